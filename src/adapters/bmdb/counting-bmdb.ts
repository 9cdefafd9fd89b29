import { WorkConflict, WorkLost } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Process } from '../../domain/machine.ts';
import { processorOf } from '../../domain/processor.ts';
import type { Metrics } from '../metrics/port.ts';
import type { Bmdb, BmdbSession, Work } from './port.ts';

/** How a claim ended; `lost`: somebody else took it, or nobody was left to say. */
type WorkResult = 'finished' | 'failed' | 'canceled' | 'lost';

/**
 * The same BMDB; sessions and work are counted once the database has answered, hence after the
 * COMMIT. Every work that was started ends once: with what its holder did, or `canceled` by a release
 * or the end of the session, or `lost` with a session that expired.
 */
export const countingBmdb = <Counted extends Bmdb>(bmdb: Counted, metrics: Metrics): Counted => ({
  ...bmdb,
  openSession: async (options) => {
    const session = await bmdb.openSession(options);
    metrics.count('bmdb_session_started', { processor: 'shepherd' });
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

function countingSession(session: BmdbSession, metrics: Metrics): BmdbSession {
  const open = new Set<Open>();
  let closing = false;
  const countEnd = (claim: Open, result: WorkResult) => {
    if (!open.delete(claim)) return;
    const { process } = claim;
    metrics.count('bmdb_work_finished', { processor: processorOf(process), process, result });
    if (result === 'lost') metrics.count('shepherd_work_lost_total', { process });
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
        if (error instanceof WorkConflict)
          metrics.count('shepherd_claim_conflicts_total', { process });
        throw error;
      });
      const claim: Open = { process, machineId, epoch: work.epoch, ending: false };
      open.add(claim);
      metrics.count('bmdb_work_started', { processor: processorOf(process), process });
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
