import { FleetError } from '../../../domain/errors.ts';
import { sleep } from '../../clock/port.ts';
import type { LiveSession } from './live.ts';
import type { Queries } from './pool.ts';

/** What became of a claim: still held, ended in one of three ways, or never taken. */
export type Outcome = 'held' | 'Finished' | 'Failed' | 'Canceled' | 'unknown epoch';

const PAUSE_MS = 250;

/**
 * Finds out what became of a commit whose answer was lost, for as long as the session lives. The
 * server may still be busy with it: locking the work row waits for that.
 * @throws the error of the lost commit, when it cannot be found out in time.
 */
export async function outcomeOf(
  session: LiveSession,
  epoch: string,
  lost: unknown,
): Promise<Outcome> {
  const doing = `find out what became of claim ${epoch}`;
  const { db, deadlineMs, signal, clock } = session;
  for (;;) {
    try {
      return await db.transact({ doing, deadlineMs, signal, isolation: 'READ COMMITTED' }, (q) =>
        readOutcome(q, epoch),
      );
    } catch (error) {
      const inTime = clock.monotonic() + PAUSE_MS < deadlineMs() && !signal.aborted;
      if (!(error instanceof FleetError) || !error.retryable || !inTime) throw lost;
      session.log.debug({ err: error, session: session.sessionId }, 'outcome not known yet');
      await sleep(clock, PAUSE_MS, signal);
    }
  }
}

async function readOutcome(q: Queries, epoch: string): Promise<Outcome> {
  const held = await q.rows(`SELECT 1 FROM work WHERE epoch = $1 FOR UPDATE`, [epoch]);
  if (held.length > 0) return 'held';
  const [ended] = await q.rows<{ event: 'Finished' | 'Failed' | 'Canceled' }>(
    `SELECT event FROM work_history WHERE epoch = $1 AND event <> 'Started'`,
    [epoch],
  );
  return ended?.event ?? 'unknown epoch';
}
