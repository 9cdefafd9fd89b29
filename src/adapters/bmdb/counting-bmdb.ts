import { WorkConflict, WorkLost } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Process } from '../../domain/machine.ts';
import type { Metrics, WorkResult } from '../metrics/port.ts';
import type { Bmdb, BmdbSession, Work } from './port.ts';

/** What is counted of sessions and their work. */
export type WorkMetrics = Pick<
  Metrics,
  'sessionStarted' | 'workStarted' | 'workFinished' | 'claimConflict'
>;

/**
 * The same BMDB; sessions and work are counted once the database has answered, hence after the
 * COMMIT. Every work that was started ends once: with what its holder did, or `canceled` by a release
 * or the end of the session, or `lost` with a session that expired.
 */
export const countingBmdb = <Counted extends Bmdb>(
  bmdb: Counted,
  metrics: WorkMetrics,
): Counted => ({
  ...bmdb,
  openSession: async (options) => {
    const session = await bmdb.openSession(options);
    metrics.sessionStarted('shepherd');
    return countingSession(session, metrics);
  },
});

/** A claim that has not been counted as ended. */
interface Open {
  readonly process: Process;
  readonly machineId: MachineId;
  readonly epoch: string;
  /** Ending right now: only that call knows how. */
  ending: boolean;
}

function countingSession(session: BmdbSession, metrics: WorkMetrics): BmdbSession {
  const open = new Set<Open>();
  let closing = false;
  const countEnd = (claim: Open, result: WorkResult) => {
    if (open.delete(claim)) metrics.workFinished(claim.process, result);
  };
  const countEnds = (result: WorkResult, which: (claim: Open) => boolean = () => true) => {
    for (const claim of [...open]) if (!claim.ending && which(claim)) countEnd(claim, result);
  };
  session.signal.addEventListener('abort', () => {
    if (!closing) countEnds('lost');
  });
  const ending = async (claim: Open, result: WorkResult, end: () => Promise<void>) => {
    claim.ending = true;
    try {
      await end();
      countEnd(claim, result);
    } catch (error) {
      claim.ending = false;
      if (error instanceof WorkLost || session.signal.aborted) countEnd(claim, 'lost');
      throw error;
    }
  };
  return {
    ...session,
    claim: async (process, machineId) => {
      const work = await session.claim(process, machineId).catch((error: unknown) => {
        if (error instanceof WorkConflict) metrics.claimConflict(process);
        throw error;
      });
      const claim: Open = { process, machineId, epoch: work.epoch, ending: false };
      open.add(claim);
      metrics.workStarted(process);
      return countingWork(work, (result, end) => ending(claim, result, end));
    },
    releaseWork: async (machineId, epoch) => {
      await session.releaseWork(machineId, epoch);
      const isNamed = (claim: Open) => epoch === undefined || claim.epoch === epoch;
      countEnds('canceled', (claim) => claim.machineId === machineId && isNamed(claim));
    },
    close: async () => {
      closing = true;
      await session.close();
      countEnds('canceled');
    },
  };
}

const countingWork = (
  work: Work,
  ending: (result: WorkResult, end: () => Promise<void>) => Promise<void>,
): Work => ({
  ...work,
  finish: (change) => ending('finished', () => work.finish(change)),
  fail: (backoff, cause, also) => ending('failed', () => work.fail(backoff, cause, also)),
  cancel: (cause) => ending('canceled', () => work.cancel(cause)),
});
