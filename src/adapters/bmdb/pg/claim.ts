import { AmbiguousCommit, NothingToDo, WorkConflict } from '../../../domain/errors.ts';
import { exclusionGroup, isLadder } from '../../../domain/eligibility.ts';
import type { MachineId } from '../../../domain/ids.ts';
import type { Process } from '../../../domain/machine.ts';
import { cancelWork } from './cancel.ts';
import { refusalOf } from './eligibility.ts';
import { isUniqueViolation } from './errors.ts';
import { transactLive, writeHistory } from './live.ts';
import type { LiveSession } from './live.ts';
import { grantPermit } from './permits.ts';
import type { Queries } from './pool.ts';
import { readMachines } from './rows.ts';
import type { Taken } from './held.ts';
import { createWork } from './work.ts';
import { outcomeOf } from './outcome.ts';
import type { Work } from '../port.ts';

/** See `BmdbSession.claim`. */
export async function claim(
  session: LiveSession,
  process: Process,
  machineId: MachineId,
): Promise<Work> {
  const doing = `claim machine ${machineId} for ${process}`;
  for (;;) {
    let taken: Taken | undefined;
    try {
      await transactLive(session, doing, async (q) => {
        taken = undefined;
        taken = await take(q, session, process, machineId);
      });
      return createWork(session, process, machineId, taken!);
    } catch (error) {
      if (isUniqueViolation(error)) throw conflict(process, machineId, error);
      if (!(error instanceof AmbiguousCommit) || !taken) throw error;
      const outcome = await outcomeOf(session, taken.epoch, error);
      if (outcome === 'held') return createWork(session, process, machineId, taken);
      if (outcome !== 'unknown epoch') throw error;
    }
  }
}

async function take(
  q: Queries,
  session: LiveSession,
  process: Process,
  machineId: MachineId,
): Promise<Taken> {
  await cancelWork(q, 'session expired', 'w.machine_id = $2 AND s.session_deadline <= now()', [
    machineId,
  ]);
  const refusal = await refusalOf(q, process, machineId, session.loss);
  if (refusal === 'it is being worked on') throw conflict(process, machineId);
  if (refusal) throw new NothingToDo(`machine ${machineId} is not for ${process}: ${refusal}`);
  if (isLadder(process)) await grantPermit(q, machineId, session.budget);
  const [work] = await q.rows<{ epoch: string }>(
    `INSERT INTO work (machine_id, session_id, process, exclusion_group)
     VALUES ($1, $2, $3, $4) RETURNING epoch`,
    [machineId, session.sessionId, process, exclusionGroup(process)],
  );
  const { epoch } = work!;
  await writeHistory(q, session, { machineId, process, epoch, event: 'Started' });
  const [row] = await readMachines(q, [machineId]);
  return { epoch, row: row! };
}

const conflict = (process: Process, machineId: MachineId, cause?: unknown) =>
  new WorkConflict(`machine ${machineId} is being worked on, not free for ${process}`, { cause });
