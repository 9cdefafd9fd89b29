import type { Log } from '../../adapters/log/port.ts';
import type { MachineId, SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { TaskPool } from './task-pool.ts';
import type { SessionKeeper } from '../session-keeper.ts';

export interface OrphansDeps {
  readonly keeper: SessionKeeper;
  readonly taskPool: TaskPool;
  readonly log: Log;
}

/**
 * Work rows of our own live session that no turn holds: a claim whose answer was lost, a cancel that
 * did not come through. Nobody else may touch them while we live, so the machine would stay locked.
 * A claim is released the second time it is found so, never in the moment between claim and turn, and
 * by its own epoch: the machine may be claimed anew before the release is carried out.
 */
export function createOrphanWatch({ keeper, taskPool, log }: OrphansDeps) {
  let suspects: ReadonlySet<string> = new Set();
  return async (facts: ReadonlyMap<Slot, SlotFacts>): Promise<void> => {
    const session = keeper.current();
    if (!session) return;
    const found = orphansOf(facts, session.sessionId, taskPool);
    const before = suspects;
    suspects = new Set(found.map(({ epoch }) => epoch));
    for (const { slot, machine, epoch } of found) {
      if (!before.has(epoch) || taskPool.holds(slot)) continue;
      log.warn({ slot, machine }, 'work that nobody holds is released');
      await session.releaseWork(machine, epoch);
    }
  };
}

interface Orphan {
  readonly slot: Slot;
  readonly machine: MachineId;
  readonly epoch: string;
}

function orphansOf(
  facts: ReadonlyMap<Slot, SlotFacts>,
  self: SessionId,
  taskPool: TaskPool,
): readonly Orphan[] {
  const found: Orphan[] = [];
  for (const { slot, row } of facts.values()) {
    if (!row || taskPool.holds(slot)) continue;
    for (const { sessionId, process, epoch } of row.work) {
      const isOurs = sessionId === self && process.startsWith('Shepherd');
      if (isOurs) found.push({ slot, machine: row.machineId, epoch });
    }
  }
  return found;
}
