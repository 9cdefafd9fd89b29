import {
  AlreadyFinished,
  SessionExpired,
  WorkConflict,
  WorkLost,
} from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import { processorOf } from '../../../../domain/processor.ts';
import type { Metrics } from '../../../metrics/port.ts';
import { createPatientBatches, oneForEach } from '../batches.ts';
import type { End, HeldClaim } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import type { Work } from '../../port.ts';
import { requireFitting } from '../../preconditions.ts';
import { createClaims } from './claim.ts';
import { endBatch, kindOf } from './ends.ts';
import { createNotes } from './notes.ts';

/** Claims of one session and the operations on them. */
export interface Works {
  /** See `BmdbSession.claim`. */
  claim(process: Process, machineId: MachineId): Promise<Work>;
  readonly counts: WorkCounts;
}

export function createWorks(session: LiveSession): Works {
  const claim = createClaims(session);
  const counts = countWorks(session, session.metrics);
  // One batch for each kind and process.
  const enders = oneForEach((_kind: string) =>
    createPatientBatches<End, void>(session, {
      keyOf: ({ held }) => held.machineId,
      run: (ends) => endBatch(session, kindOf(ends[0]!), ends),
    }),
  );
  const note = createNotes(session);
  const end = (how: End) => enders(`${how.held.process} ${kindOf(how)}`).submit(how);
  return {
    counts,
    claim: async (process, machineId) => {
      const taken = await claim(process, machineId).catch((error: unknown) => {
        if (error instanceof WorkConflict) {
          session.metrics.count('shepherd_claim_conflicts_total', { process });
        }
        throw error;
      });
      const held = { ...taken, session, process, machineId };
      return createWork(held, { note, end, counted: counts.started(held) });
    },
  };
}

/** How a claim ended; `lost`: another session took it, or its session expired. */
type WorkResult = 'finished' | 'failed' | 'canceled' | 'lost';

/** A claim that is not counted as ended yet. */
interface Open {
  readonly process: Process;
  readonly machineId: MachineId;
  readonly epoch: string;
  /** An end is under way, and only that call knows the result. */
  ending: boolean;
}

export type WorkCounts = ReturnType<typeof countWorks>;
type CountResult = <T>(result: WorkResult, end: () => Promise<T>) => Promise<T>;

/**
 * Counts works after the database has answered, so after the COMMIT. Every started work is counted
 * as ended once. The label is its holder's result, `canceled` after a release or the session's end,
 * or `lost` if the session expired.
 */
export function countWorks({ signal }: Pick<LiveSession, 'signal'>, metrics: Metrics) {
  const open = new Set<Open>();
  let isClosing = false;
  const countEnd = (claim: Open, result: WorkResult) => {
    if (!open.delete(claim)) return;
    const { process } = claim;
    metrics.count('bmdb_work_finished', { processor: processorOf(process), process, result });
    if (result === 'lost') metrics.count('shepherd_work_lost_total', { process });
  };
  const countEnds = (result: WorkResult, which: (claim: Open) => boolean = () => true) => {
    for (const claim of [...open]) if (!claim.ending && which(claim)) countEnd(claim, result);
  };
  signal.addEventListener('abort', () => {
    if (!isClosing) countEnds('lost');
  });
  return {
    started: ({ process, machineId, epoch }: Omit<Open, 'ending'>): CountResult => {
      const claim: Open = { process, machineId, epoch, ending: false };
      open.add(claim);
      metrics.count('bmdb_work_started', { processor: processorOf(process), process });
      return async (result, end) => {
        claim.ending = true;
        try {
          const answer = await end();
          countEnd(claim, result);
          return answer;
        } catch (error) {
          claim.ending = false;
          if (error instanceof WorkLost || signal.aborted) countEnd(claim, 'lost');
          throw error;
        }
      };
    },
    released: (machineId: MachineId, epoch?: string) =>
      countEnds(
        'canceled',
        (claim) => claim.machineId === machineId && (epoch === undefined || claim.epoch === epoch),
      ),
    closing: async (close: () => Promise<void>) => {
      isClosing = true;
      await close();
      countEnds('canceled');
    },
  };
}

interface WorkDeps {
  readonly note: ReturnType<typeof createNotes>;
  /** Ends the work, batched with others. @throws {WorkLost} */
  readonly end: (end: End) => Promise<void>;
  readonly counted: CountResult;
}

/** See `Work`. Ended only after the commit, so that a failed finish can become a fail. */
function createWork(held: HeldClaim, deps: WorkDeps): Work {
  const { process, machineId, epoch, row, session } = held;
  let ended = false;
  const already = () => new AlreadyFinished(`${process} on ${machineId} has already ended`);
  const end = async (how: End) => {
    if (ended) throw already();
    try {
      await deps.end(how);
    } catch (error) {
      // Another end of ours was faster.
      throw ended && error instanceof WorkLost ? already() : error;
    }
    ended = true;
  };
  return {
    process,
    machineId,
    epoch,
    row,
    signal: session.signal,
    note: (note) => deps.note(held, note),
    finish: (change) =>
      deps.counted('finished', async () => {
        requireFitting(process, change);
        await end({ held, event: 'Finished', cause: null, change });
      }),
    fail: (backoff, cause, also = {}) =>
      deps.counted('failed', () => end({ held, event: 'Failed', cause, backoff, also })),
    cancel: (cause = 'canceled') =>
      deps.counted('canceled', async () => {
        ended ||= await cancel(held, cause, deps);
      }),
  };
}

/**
 * Work of a dead session counts for nothing, so only a live one needs to cancel.
 * @returns false if the work is not over and may be ended again.
 */
async function cancel(held: HeldClaim, cause: string, deps: WorkDeps): Promise<boolean> {
  try {
    await deps.end({ held, event: 'Canceled', cause });
    return true;
  } catch (error) {
    const { session, machineId, process } = held;
    const fields = { err: error, machine: machineId, process, session: session.sessionId };
    session.log.warn(fields, 'work could not be cancelled; it ends with its session at the latest');
    return error instanceof WorkLost || error instanceof SessionExpired;
  }
}
