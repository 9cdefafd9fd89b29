import type { NewEvent } from '../../../src/domain/events/fleet-event.ts';
import type { RollState } from '../../../src/domain/rolling.ts';
import {
  CONTROLLED,
  rollEvent,
  ROLLS_KEPT_DAYS,
  type RollRepository,
} from '../../../src/adapters/bmdb/rolls-port.ts';
import { tell } from './events.ts';
import { plain } from './plain.ts';
import type { Memory } from './tables.ts';

/** See `RollRepository`. */
export function createRolls(memory: Memory): RollRepository {
  const { rolls } = memory;
  const told = (event: NewEvent | null) => event && tell(memory, event);
  return {
    create: async (given) => {
      const roll = plain(given);
      const { id, action, by, reason, slots } = roll;
      if (!rolls.has(id)) {
        const fresh = { state: 'running', note: null, position: 0, nextAtMs: null } as const;
        rolls.set(id, { ...roll, ...fresh, failures: [], createdAtMs: memory.now() });
        const details = { roll: id, action, machines: slots.length };
        told({ type: 'roll.started', actor: by, reason, details });
      }
      return rolls.get(id)!;
    },
    list: async ({ running = false, limit }) =>
      [...rolls.values()]
        .filter(({ state }) => !running || state === 'running')
        .toReversed()
        .slice(0, limit),
    read: async (id) => rolls.get(id) ?? null,
    step: async ({ id, position }, change) => {
      const roll = rolls.get(id);
      if (roll?.state !== 'running' || roll.position !== position) return false;
      rolls.set(id, { ...roll, ...plain(change) });
      told(rollEvent(roll, change.state, { by: roll.by, reason: change.note ?? roll.reason }));
      return true;
    },
    control: async (id, verb, by) => {
      const roll = rolls.get(id);
      const { from, to } = CONTROLLED[verb];
      if (!roll || !(from as readonly RollState[]).includes(roll.state)) return roll ?? null;
      const note = `${by} asked to ${verb} it`;
      rolls.set(id, { ...roll, state: to, note });
      told(rollEvent(roll, to, { by, reason: note }));
      return rolls.get(id)!;
    },
  };
}

export function trimRolls({ rolls, now }: Memory): void {
  const limitMs = now() - ROLLS_KEPT_DAYS * 86_400_000;
  for (const [id, { state, createdAtMs }] of rolls)
    if (state !== 'running' && state !== 'paused' && createdAtMs < limitMs) rolls.delete(id);
}
