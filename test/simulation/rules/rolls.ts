import type { RollRow, RollSlot } from '../../../src/domain/rolling.ts';
import type { MemTables } from '../../doubles/mem-bmdb/tables.ts';
import { isFrozen, isWindowOpen } from './facts.ts';
import { STALE_MS } from './repairs.ts';
import { changesOf, isSteady, lasting, MINUTE, type SimulationRule } from './rule.ts';

/** Two clocks that read the same time may differ by this much. */
const SKEW_MS = 10_000;
/** A live daemon sees a failure this soon. */
const STOPPED_WITHIN_MS = 20 * MINUTE;

const keyOf = ({ id }: RollRow, at: RollSlot) => `${id}/${at.provider}/${at.slotId}`;

/** The machines whose turn it is. */
const batchOf = ({ slots, position, canary, batch }: RollRow): readonly RollSlot[] =>
  slots.slice(position, position + (position === 0 && canary > 0 ? canary : batch));

/** Why the machine does not let its roll go on; null: it does. */
function whyNotOver({ requests, machines }: MemTables, roll: RollRow, at: RollSlot) {
  const order = requests.get(keyOf(roll, at));
  const row = machines.get(at.machineId)?.row;
  const place = row?.provided && (row.provided.reservationId ?? row.provided.providerId);
  const isGone = place !== at.slotId;
  if (!roll.stopOnFailure) {
    if (isGone || (order && order.state !== 'open')) return null;
    return order ? 'its order is open' : 'it has no order';
  }
  if (isGone) return 'it is gone';
  if (order?.state !== 'done') return `its order is ${order?.state}`;
  return (row!.heartbeat?.atMs ?? 0) > order.settledAtMs! ? null : 'it was not heard since';
}

/** Rolling actions. */
export const ROLLS: readonly SimulationRule[] = [
  {
    id: 'roll-begins-in-its-turn',
    sentence:
      'A roll orders machines of its batch, while it runs, nothing is frozen and a window is open',
    watch({ recorder, world }, say) {
      const { tables } = world.bmdb;
      /** By roll: when its state and its position changed. */
      const changed = new Map<string, { stateMs: number; positionMs: number }>();
      return (step) => {
        for (const { before, after } of changesOf(step, 'roll')) {
          if (!after) continue;
          const { stateMs = 0, positionMs = 0 } = changed.get(after.id) ?? {};
          changed.set(after.id, {
            stateMs: before?.state === after.state ? stateMs : step.atMs,
            positionMs: before?.position === after.position ? positionMs : step.atMs,
          });
        }
        for (const { before, after } of changesOf(step, 'request')) {
          const roll = tables.rolls.get(after?.key.split('/')[0] ?? '');
          if (before !== null || !after || !roll || step.kind !== 'write') continue;
          const tell = (why: string) => say(`${after.key} by ${step.by}: ${why}`);
          // A daemon that stood still may act by what it read before.
          if (step.atMs - recorder.steadySinceMs(step.by ?? '') < STALE_MS) continue;
          const { stateMs, positionMs } = changed.get(roll.id)!;
          if (roll.state !== 'running' && step.atMs - stateMs > MINUTE) tell(`it is ${roll.state}`);
          const isOurs = (at: RollSlot) =>
            keyOf(roll, at) === after.key && at.machineId === after.machineId;
          if (!batchOf(roll).some(isOurs)) tell('it is not its turn');
          if (roll.position > 0 && step.atMs - positionMs < roll.pauseMs - SKEW_MS)
            tell(`only ${step.atMs - positionMs} ms after the last batch`);
          if (isFrozen(tables.guard.rows, after.provider ?? '', step.atMs - STALE_MS))
            tell('recovery is frozen');
          const { windows } = world.config;
          if (![0, SKEW_MS].some((ms) => isWindowOpen(windows, step.atMs - ms)))
            tell('no window is open');
        }
      };
    },
  },
  {
    id: 'roll-has-one-batch',
    sentence: 'A roll goes on when all of its batch is over, and healthy if failures stop it',
    watch: ({ world }, say) => {
      const { tables } = world.bmdb;
      return (step) => {
        for (const { before, after } of changesOf(step, 'roll')) {
          if (!before || !after) continue;
          if (after.position === before.position) continue;
          for (const at of batchOf(before)) {
            const why = whyNotOver(tables, before, at);
            if (why) say(`roll ${after.id} goes on after ${at.slotId}, though ${why}`);
          }
        }
      };
    },
  },
  {
    id: 'roll-stops',
    sentence: 'A roll stops at its first failure, unless a person said otherwise',
    watch: lasting(STOPPED_WITHIN_MS, function* (scene, atMs) {
      const { rolls, requests } = scene.world.bmdb.tables;
      if (!isSteady(scene, atMs, STOPPED_WITHIN_MS)) return;
      for (const roll of rolls.values()) {
        if (roll.state !== 'running' || !roll.stopOnFailure) continue;
        const failed = batchOf(roll).find(
          (at) => requests.get(keyOf(roll, at))?.state === 'refused',
        );
        if (failed) yield [roll.id, `it runs, though it failed on ${failed.slotId}`];
      }
    }),
  },
];
