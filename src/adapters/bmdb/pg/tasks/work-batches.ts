import type { Outcome } from '../../../../lib/batcher.ts';
import { isLadder } from '../../../../domain/eligibility.ts';
import {
  AlreadyFinished,
  AmbiguousCommit,
  SessionExpired,
  WorkLost,
} from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { statementsFor as claimStatementsFor, take, takeAtOnce } from './claim.ts';
import type { Claiming, Verdicts } from './claim.ts';
import { createBatches, createPatientBatches, onceMore, oneForEach } from '../batches.ts';
import { endBatch, kindOf } from './ends.ts';
import { isReferenceViolation } from '../errors.ts';
import { statementsFor as countStatementsFor } from '../guard/guard-counts.ts';
import { describeMachines } from '../claims/held-claim.ts';
import type { End, HeldClaim, TakenClaim } from '../claims/held-claim.ts';
import { batchOptions, requireInTime, transactFenced, transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { statementsFor as noteStatementsFor } from '../claims/may-ask.ts';
import type { NoteStatements } from '../claims/may-ask.ts';
import { createNotes } from './notes.ts';
import type { WriteNote } from './notes.ts';
import { claimsTaken, claimStatusesOf } from './ambiguous-commits.ts';
import type { LostClaims } from './ambiguous-commits.ts';
import { statementsFor as ladderStatementsFor } from '../recovery/permits.ts';
import type { Work } from '../../port.ts';
import { requireFitting } from '../../preconditions.ts';

/** Claims and ends of one session, in batches: what is asked for meanwhile shares a transaction. */
export interface WorkBatches {
  /** See `BmdbSession.claim`. */
  claim(process: Process, machineId: MachineId): Promise<Work>;
}

export function createWorkBatches(session: LiveSession): WorkBatches {
  const claims = claimStatementsFor(session.loss);
  const ladder = ladderStatementsFor(session.loss);
  const counting = countStatementsFor(session.loss, session.guard);
  const newest = { epoch: 0n };
  const claimersWith = <Answer>(
    run: (claiming: Claiming, machines: readonly MachineId[]) => Promise<Outcome<Answer>[]>,
  ) =>
    oneForEach((process: Process) => {
      const claiming = { session, process, statement: claims[process], ladder, counting, newest };
      return createBatches<MachineId, Answer>({
        ...(isLadder(process) && { concurrency: 1 }),
        keyOf: (machineId) => machineId,
        run: (machines) => run(claiming, machines),
      });
    });
  const quick = claimersWith(claimAtOnce);
  const careful = claimersWith(claimBatch);
  // By process, too.
  const enders = oneForEach((_kind: string) =>
    createPatientBatches<End, void>(session, {
      keyOf: ({ held }) => held.machineId,
      run: (ends) => endBatch(session, kindOf(ends[0]!), ends),
    }),
  );
  const conditions = noteStatementsFor(session.loss);
  const deps: WorkDeps = {
    conditions,
    note: createNotes(session, { conditions, counting }),
    end: (how) => enders(`${how.held.process} ${kindOf(how)}`).submit(how),
  };
  return {
    claim: async (process, machineId) => {
      const taken =
        (isLadder(process) ? null : await quick(process).submit(machineId)) ??
        (await careful(process).submit(machineId));
      return createWork({ ...taken, session, process, machineId }, deps);
    },
  };
}

const claimingOf = (process: Process, machines: readonly MachineId[]): string =>
  `claim ${describeMachines(machines)} for ${process}`;

/** Claims machines in one statement; when its answer is lost, finds out. Null: see `takeAtOnce`. */
async function claimAtOnce(
  claiming: Claiming,
  machines: readonly MachineId[],
): Promise<Outcome<TakenClaim | null>[]> {
  const { session, process, newest } = claiming;
  const what = { doing: claimingOf(process, machines), processor: processorOf(process) };
  const sent = { process, machines, newest: newest.epoch };
  try {
    const outcomes = await takeAtOnce(claiming, what, machines);
    requireInTime(session, what.doing);
    return outcomes;
  } catch (error) {
    // A machine was deleted under the first claim of a group: the next look finds it gone.
    if (isReferenceViolation(error)) return claimAtOnce(claiming, machines);
    if (!(error instanceof AmbiguousCommit)) throw error;
    return resolveAtOnce(claiming, sent, error);
  }
}

/** What the lost statement did not take is claimed once more. */
async function resolveAtOnce(
  claiming: Claiming,
  sent: LostClaims,
  lost: AmbiguousCommit,
): Promise<Outcome<TakenClaim | null>[]> {
  const taken = await claimsTaken(claiming.session, sent, lost);
  const again = sent.machines.filter((id) => !taken.has(id));
  const repeated = await onceMore(again, (machines) => claimAtOnce(claiming, machines));
  const outcomes = new Map(again.map((id, at) => [id, repeated[at]!]));
  requireInTime(claiming.session, claimingOf(sent.process, sent.machines));
  return sent.machines.map((id) => outcomes.get(id) ?? { ok: taken.get(id)! });
}

/**
 * Claims machines in one transaction; when the answer to its COMMIT is lost, finds out. What was got
 * too late is left to die with its session.
 */
async function claimBatch(
  claiming: Claiming,
  machines: readonly MachineId[],
): Promise<Outcome<TakenClaim>[]> {
  const { session, process } = claiming;
  const transact = isLadder(process) ? transactLive : transactFenced;
  const doing = claimingOf(process, machines);
  const options = { doing, ...batchOptions(session), processor: processorOf(process) };
  let verdicts: Verdicts = new Map();
  try {
    await transact(session, options, async (q) => {
      verdicts = new Map();
      verdicts = await take(q, claiming, machines);
    });
  } catch (error) {
    // A machine was deleted under the first claim of a group: the next look finds it gone.
    if (isReferenceViolation(error)) return claimBatch(claiming, machines);
    if (!(error instanceof AmbiguousCommit)) throw error;
    verdicts = await resolve(claiming, verdicts, error);
  }
  requireInTime(session, doing);
  return machines.map((id) => verdicts.get(id)!);
}

/** What the lost transaction did not take it never will: once more. */
async function resolve(
  claiming: Claiming,
  verdicts: Verdicts,
  lost: AmbiguousCommit,
): Promise<Verdicts> {
  const { session, process } = claiming;
  const taken = [...verdicts].flatMap(([machineId, verdict]) =>
    'ok' in verdict ? [{ process, machineId, epoch: verdict.ok.epoch }] : [],
  );
  const statuses = await claimStatusesOf(session, taken, lost);
  const resolved = new Map(verdicts);
  for (const { machineId, epoch } of taken) {
    const status = statuses.get(epoch);
    if (status !== undefined && status !== 'held') resolved.set(machineId, { error: lost });
  }
  const again = taken.filter(({ epoch }) => !statuses.has(epoch)).map(({ machineId }) => machineId);
  const repeated = await onceMore(again, (machines) => claimBatch(claiming, machines));
  again.forEach((id, at) => resolved.set(id, repeated[at]!));
  return resolved;
}

interface WorkDeps {
  readonly conditions: NoteStatements;
  /** See `Work.note`; together with others. */
  readonly note: WriteNote;
  /** Ends the work, together with others. @throws {WorkLost} */
  readonly end: (end: End) => Promise<void>;
}

/** See `Work`. Ended only after a commit, so that a failed finish can still be failed. */
function createWork(held: HeldClaim, deps: WorkDeps): Work {
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
    note: (note) => deps.note(held, note),
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
