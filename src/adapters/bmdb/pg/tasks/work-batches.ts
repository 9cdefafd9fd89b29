import { createBatcher } from '../../../../domain/batcher.ts';
import type { Batcher, Outcome } from '../../../../domain/batcher.ts';
import { isLadder } from '../../../../domain/eligibility.ts';
import { AmbiguousCommit, Locked } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { statementsFor as claimStatementsFor, take } from './claim.ts';
import type { Claiming, Verdicts } from './claim.ts';
import { eachAlone } from './each-alone.ts';
import { endBatch } from './ends.ts';
import { isReferenceViolation } from '../errors.ts';
import { statementsFor as countStatementsFor } from '../guard/guard-counts.ts';
import type { End, TakenClaim } from '../claims/held-claim.ts';
import { batchOptions, requireInTime, transactFenced, transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { statementsFor as noteStatementsFor } from '../claims/may-ask.ts';
import { claimStatusesOf } from './ambiguous-commits.ts';
import { statementsFor as permitStatementsFor } from '../recovery/permits.ts';
import { repeated } from '../repeat.ts';
import { createWork } from './work.ts';
import type { Work } from '../../port.ts';

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
