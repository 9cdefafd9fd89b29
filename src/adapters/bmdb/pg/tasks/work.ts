import { AlreadyFinished, SessionExpired, WorkLost } from '../../../../domain/errors.ts';
import { requireFitting } from '../../preconditions.ts';
import type { End, HeldClaim } from '../claims/held-claim.ts';
import { writeNote } from './notes.ts';
import type { NoteStatements } from '../claims/may-ask.ts';
import type { Work } from '../../port.ts';

export interface WorkDeps {
  readonly conditions: NoteStatements;
  /** Ends the work, together with others. @throws {WorkLost} */
  readonly end: (end: End) => Promise<void>;
}

/** See `Work`. Ended only after a commit, so that a failed finish can still be failed. */
export function createWork(held: HeldClaim, deps: WorkDeps): Work {
  const { process, machineId, epoch, row, session } = held;
  let ended = false;
  const already = () => new AlreadyFinished(`${process} on ${machineId} has ended already`);
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
    note: (note) => writeNote(held, note, deps.conditions),
    finish: async (change) => {
      requireFitting(process, change);
      const isUnasked = change.kind === 'recovered' && change.unasked === true;
      const condition = isUnasked ? { condition: deps.conditions[process] } : {};
      await end({ held, event: 'Finished', cause: null, change, ...condition });
    },
    fail: (backoff, cause, also = {}) => end({ held, event: 'Failed', cause, backoff, also }),
    cancel: async (cause = 'canceled') => {
      ended ||= await cancel(held, cause, deps);
    },
  };
}

/**
 * Work of a dead session counts for nothing, so only a live one has something to cancel.
 * @returns whether it is over; else it may be ended once more.
 */
async function cancel(held: HeldClaim, cause: string, deps: WorkDeps): Promise<boolean> {
  try {
    await deps.end({ held, event: 'Canceled', cause });
    return true;
  } catch (error) {
    const { session, machineId, process } = held;
    const fields = { err: error, machine: machineId, process, session: session.sessionId };
    session.log.warn(fields, 'work not cancelled; it ends with its session at the latest');
    return error instanceof WorkLost || error instanceof SessionExpired;
  }
}
