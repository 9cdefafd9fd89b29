import type { Log } from '../adapters/log/port.ts';
import type { MachineId, SessionId, Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { Desk } from './desk.ts';
import type { SessionKeeper } from './session-keeper.ts';

export interface OrphansDeps {
  readonly keeper: SessionKeeper;
  readonly desk: Desk;
  readonly log: Log;
}

/**
 * Work rows of our own live session that no turn holds: a claim whose answer was lost, a cancel that
 * did not come through. Nobody else may touch them while we live, so the machine would stay locked.
 * A row is released the second time it is found so, never in the moment between claim and turn.
 */
export function createOrphanWatch({ keeper, desk, log }: OrphansDeps) {
  let suspects: ReadonlySet<MachineId> = new Set();
  return async (facts: ReadonlyMap<Slot, SlotFacts>): Promise<void> => {
    const session = keeper.current();
    if (!session) return;
    const found = orphansOf(facts, session.sessionId, desk);
    const before = suspects;
    suspects = new Set(found.keys());
    for (const [machine, slot] of found) {
      if (!before.has(machine) || desk.holds(slot)) continue;
      log.warn({ slot, machine }, 'work that nobody holds is released');
      await session.releaseWork(machine);
    }
  };
}

function orphansOf(
  facts: ReadonlyMap<Slot, SlotFacts>,
  self: SessionId,
  desk: Desk,
): Map<MachineId, Slot> {
  const found = new Map<MachineId, Slot>();
  for (const { slot, row } of facts.values()) {
    const ours = row?.work.some(
      ({ sessionId, process }) => sessionId === self && process.startsWith('Shepherd'),
    );
    if (row && ours && !desk.holds(slot)) found.set(row.machineId, slot);
  }
  return found;
}
