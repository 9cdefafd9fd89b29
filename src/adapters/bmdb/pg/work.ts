import { nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { AlreadyFinished, AmbiguousCommit, WorkLost } from '../../../domain/errors.ts';
import type { MachineId } from '../../../domain/ids.ts';
import type { Process } from '../../../domain/machine.ts';
import { cancelWork } from './cancel.ts';
import type { Held, Taken } from './held.ts';
import { transactLive, writeEvent, writeHistory } from './live.ts';
import type { LiveSession } from './live.ts';
import { outcomeOf } from './outcome.ts';
import type { Queries } from './pool.ts';
import { applyChange, coolDown, quarantineMachine, writeNote } from './tags.ts';
import type { Quarantine, Work } from '../port.ts';

type Ending = 'Finished' | 'Failed';

/** See `Work`. Ended only after a commit, so that a failed finish can still be failed. */
export function createWork(
  session: LiveSession,
  process: Process,
  machineId: MachineId,
  taken: Taken,
): Work {
  const held: Held = { ...taken, session, process, machineId };
  let ended = false;
  const end = async (event: Ending, cause: string | null, body: (q: Queries) => Promise<void>) => {
    if (ended) throw new AlreadyFinished(`${process} on ${machineId} has ended already`);
    await settle(held, event, cause, body);
    ended = true;
  };
  return {
    ...{ process, machineId, epoch: taken.epoch, row: taken.row, signal: session.signal },
    note: (note) =>
      transactLive(session, `note ${note.kind} of ${machineId}`, async (q) => {
        await requireWork(q, held);
        await writeNote(q, held, note);
      }),
    finish: (change) => end('Finished', null, (q) => finish(q, held, change)),
    fail: (backoff, cause, quarantine) =>
      end('Failed', cause, (q) => fail(q, held, { backoff, cause, quarantine })),
    cancel: async (cause = 'canceled') => {
      if (ended) return;
      await cancel(held, cause);
      ended = true;
    },
  };
}

/** Ends the work in one transaction; when the answer to its COMMIT is lost, finds out. */
async function settle(
  held: Held,
  event: Ending,
  cause: string | null,
  body: (q: Queries) => Promise<void>,
): Promise<void> {
  const { session, machineId, process, epoch } = held;
  for (let lost: AmbiguousCommit | null = null; ;) {
    try {
      return await transactLive(session, `end ${process} on ${machineId}`, async (q) => {
        await dropWork(q, held);
        await writeHistory(q, session, {
          ...{ machineId, process, epoch, event },
          ...(cause === null ? {} : { cause }),
        });
        await body(q);
      });
    } catch (error) {
      if (error instanceof AmbiguousCommit) lost = error;
      else if (lost === null || !(error instanceof WorkLost)) throw error;
      const outcome = await outcomeOf(session, epoch, lost);
      if (outcome === event) return;
      if (outcome !== 'held') throw workLost(held, lost);
    }
  }
}

const workLost = ({ process, machineId, epoch }: Held, cause?: unknown) =>
  new WorkLost(`${process} on ${machineId} (claim ${epoch}) is no longer ours`, { cause });

async function dropWork(q: Queries, held: Held): Promise<void> {
  const dropped = await q.run(`DELETE FROM work WHERE epoch = $1 AND session_id = $2`, [
    held.epoch,
    held.session.sessionId,
  ]);
  if (dropped !== 1) throw workLost(held);
}

async function requireWork(q: Queries, held: Held): Promise<void> {
  const found = await q.rows(`SELECT 1 FROM work WHERE epoch = $1 AND session_id = $2 FOR UPDATE`, [
    held.epoch,
    held.session.sessionId,
  ]);
  if (found.length === 0) throw workLost(held);
}

async function finish(
  q: Queries,
  held: Held,
  change: Parameters<Work['finish']>[0],
): Promise<void> {
  await q.run(`DELETE FROM work_backoff WHERE machine_id = $1 AND process = $2`, [
    held.machineId,
    held.process,
  ]);
  await applyChange(q, held, change);
}

interface Failure {
  readonly backoff: BackoffDescriptor;
  readonly cause: string;
  readonly quarantine: Quarantine | undefined;
}

async function fail(q: Queries, held: Held, failure: Failure): Promise<void> {
  const { machineId, process, session } = held;
  await writeBackoff(q, held, failure);
  if (process === 'ShepherdAgentStart') {
    await q.run(
      `INSERT INTO machine_agent_start_attempt AS t (machine_id, attempted_at, count)
       VALUES ($1, now(), 1) ON CONFLICT (machine_id) DO UPDATE SET count = t.count + 1`,
      [machineId],
    );
  }
  await coolDown(q, held, failure.backoff);
  const reason = `${process}: ${failure.cause}`;
  await writeEvent(q, session, { machineId, kind: 'workFailed', reason });
  if (failure.quarantine) await quarantineMachine(q, held, failure.quarantine);
}

async function writeBackoff(q: Queries, held: Held, { backoff, cause }: Failure): Promise<void> {
  const { machineId, process, row, session } = held;
  const previous = row.backoffs.find((each) => each.process === process);
  const seconds = nextBackoffSeconds(backoff, previous?.lastIntervalSeconds ?? null);
  const waitSeconds = seconds * (1 + session.random.next() * session.jitter);
  await q.run(
    `INSERT INTO work_backoff (machine_id, process, until, cause, last_interval_seconds)
     VALUES ($1, $2, now() + $3::float8 * interval '1 second', $4, $5)
     ON CONFLICT (machine_id, process) DO UPDATE SET until = excluded.until,
       cause = excluded.cause, last_interval_seconds = excluded.last_interval_seconds`,
    [machineId, process, waitSeconds, cause, seconds],
  );
}

/** Work of a dead session counts for nothing, so only a live one has something to cancel. */
async function cancel(held: Held, cause: string): Promise<void> {
  const { session, epoch, machineId, process } = held;
  try {
    await transactLive(session, `cancel ${process} on ${machineId}`, async (q) => {
      await cancelWork(q, cause, 'w.epoch = $2 AND w.session_id = $3', [epoch, session.sessionId]);
    });
  } catch (error) {
    const fields = { err: error, machine: machineId, process, session: session.sessionId };
    session.log.warn(fields, 'work not cancelled; it ends with its session');
  }
}
