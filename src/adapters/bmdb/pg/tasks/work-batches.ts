import { createBatcher } from '../../../../domain/batcher.ts';
import type { Batcher, Outcome } from '../../../../domain/batcher.ts';
import { isLadder } from '../../../../domain/eligibility.ts';
import {
  AlreadyFinished,
  AmbiguousCommit,
  FleetError,
  Locked,
  SessionExpired,
  WorkLost,
} from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { statementsFor as claimStatementsFor, take } from './claim.ts';
import type { Claiming, Verdicts } from './claim.ts';
import { endBatch } from './ends.ts';
import { isReferenceViolation } from '../errors.ts';
import { statementsFor as countStatementsFor } from '../guard/guard-counts.ts';
import type { End, HeldClaim, TakenClaim } from '../claims/held-claim.ts';
import { batchOptions, requireInTime, transactFenced, transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { statementsFor as noteStatementsFor } from '../claims/may-ask.ts';
import type { NoteStatements } from '../claims/may-ask.ts';
import { writeNote } from './notes.ts';
import { claimStatusesOf } from './ambiguous-commits.ts';
import { statementsFor as permitStatementsFor } from '../recovery/permits.ts';
import { repeated } from '../repeat.ts';
import type { Work } from '../../port.ts';
import { requireFitting } from '../../preconditions.ts';

/** Claims and ends of one session, in batches: what is asked for meanwhile shares a transaction. */
export interface WorkBatches {
  /** See `BmdbSession.claim`. */
  claim(process: Process, machineId: MachineId): Promise<Work>;
}

/** Machines in one transaction. */
const SIZE_MAX = 200;
/** Transactions of one kind at once. */
const CONCURRENCY = 2;

export function createWorkBatches(session: LiveSession): WorkBatches {
  const claims = claimStatementsFor(session.loss);
  const permits = permitStatementsFor(session.loss);
  const counting = countStatementsFor(session.loss, session.guard);
  const conditions = noteStatementsFor(session.loss);
  const claimers = forEachProcess((process) =>
    createBatcher<MachineId, TakenClaim>({
      collect: endOfTurn,
      sizeMax: SIZE_MAX,
      concurrency: isLadder(process) ? 1 : CONCURRENCY,
      keyOf: (machineId) => machineId,
      run: eachAlone((machines) =>
        claimBatch({ session, process, statement: claims[process], permits, counting }, machines),
      ),
    }),
  );
  const end = createEnding(session);
  return {
    claim: async (process, machineId) => {
      const taken = await claimers(process).submit(machineId);
      return createWork({ ...taken, session, process, machineId }, { conditions, end });
    },
  };
}

/**
 * Ends works in batches. Those that somebody has locked are tried again for a while, one by one and
 * beside the batches, which they would hold up.
 */
function createEnding(session: LiveSession): (how: End) => Promise<void> {
  const enders = forEachProcess((process) =>
    createBatcher<End, void>({
      collect: endOfTurn,
      sizeMax: SIZE_MAX,
      concurrency: CONCURRENCY,
      keyOf: ({ held }) => held.machineId,
      run: eachAlone((ends) => endBatch(session, process, ends)),
    }),
  );
  const stragglers = createBatcher<End, void>({
    collect: endOfTurn,
    sizeMax: 1,
    concurrency: CONCURRENCY,
    keyOf: ({ held }) => held.epoch,
    run: ([how]) => endBatch(session, how!.held.process, [how!]),
  });
  const isPassing = (error: unknown) => error instanceof Locked;
  return async (how) => {
    try {
      await enders(how.held.process).submit(how);
    } catch (error) {
      if (!isPassing(error)) throw error;
      await repeated({ ...session, isPassing }, () => stragglers.submit(how));
    }
  };
}

/** Whatever is asked for in one turn of the event loop goes together. */
const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function forEachProcess<Item, Answer>(
  create: (process: Process) => Batcher<Item, Answer>,
): (process: Process) => Batcher<Item, Answer> {
  const made = new Map<Process, Batcher<Item, Answer>>();
  return (process) => {
    const found = made.get(process) ?? create(process);
    made.set(process, found);
    return found;
  };
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
  const what = machines.length === 1 ? `machine ${machines[0]}` : `${machines.length} machines`;
  const doing = `claim ${what} for ${process}`;
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
  if (again.length === 0) return resolved;
  const repeated = await claimBatch(claiming, again);
  again.forEach((id, at) => resolved.set(id, repeated[at]!));
  return resolved;
}

type Run<Item, Answer> = (batch: readonly Item[]) => Promise<readonly Outcome<Answer>[]>;

/** So many items are waited for one by one: then the others, too, are given up as locked. */
const LOCKED_MAX = 4;

/**
 * When something is wrong with one item of a batch, or somebody has locked what it needs, the others
 * shall not pay for it: each is then handled alone. Errors that have to do with the database and not
 * with the items are everybody's.
 */
const eachAlone =
  <Item, Answer>(run: Run<Item, Answer>): Run<Item, Answer> =>
  async (batch) => {
    try {
      return await run(batch);
    } catch (error) {
      if (batch.length === 1 || !isOfItems(error)) throw error;
    }
    return oneByOne(batch, run);
  };

const isOfItems = (error: unknown) => error instanceof Locked || !(error instanceof FleetError);

async function oneByOne<Item, Answer>(
  batch: readonly Item[],
  run: Run<Item, Answer>,
): Promise<Outcome<Answer>[]> {
  const outcomes: Outcome<Answer>[] = [];
  let locked = 0;
  for (const item of batch) {
    try {
      outcomes.push(...(await run([item])));
    } catch (error) {
      outcomes.push({ error });
      if (error instanceof Locked) locked += 1;
      if (isOfItems(error) && locked < LOCKED_MAX) continue;
      return outcomes.concat(batch.slice(outcomes.length).map(() => ({ error })));
    }
  }
  return outcomes;
}

interface WorkDeps {
  readonly conditions: NoteStatements;
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
