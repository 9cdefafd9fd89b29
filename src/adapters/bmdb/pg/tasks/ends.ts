import type { Outcome } from '../../../../lib/batcher.ts';
import { AmbiguousCommit, NothingToDo, Unreachable } from '../../../../domain/errors.ts';
import { processorOf } from '../../../../domain/processor.ts';
import type { Processor } from '../../../../domain/processor.ts';
import { isAgentStart, recordStarts } from './agent-starts.ts';
import type { AgentStart } from './agent-starts.ts';
import { returnUnusedPermits } from '../claims/cancel.ts';
import { describeMachines, statementsFor, workLost } from '../claims/held-claim.ts';
import type { End, HeldClaim } from '../claims/held-claim.ts';
import {
  HELD_ANSWER,
  HELD_COLUMNS,
  heldArgs,
  heldEpochs,
  heldParams,
  heldSql,
  releaseSql,
  writeHeld,
} from './held-works.ts';
import { onceMore } from '../batches.ts';
import { batchOptions, transactFenced, writeEvents } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { claimStatusesOf } from './ambiguous-commits.ts';
import type { Queries } from '../pool.ts';
import { repeated } from '../repeat.ts';
import { named, statement } from '../statement.ts';
import { applyChanges, failureEvents, finishEvents, recordFailures } from './tags.ts';

export const statements = named('work', {
  release: statement({
    params: heldParams({ process: 'process', event: 'work_history_event', cause: 'text?' }),
    columns: HELD_COLUMNS,
    text: (of) => `
      WITH ${heldSql(of)},
      ${releaseSql({ process: 'h.process', event: 'h.event', cause: 'h.cause' })} ${HELD_ANSWER}`,
  }),
});

/** Groups of ends that are written together: agent starts, plain ends, and the others. */
export type EndKind = 'starts' | 'plain' | 'others';

export function kindOf(end: End): EndKind {
  if (end.event !== 'Finished') return 'others';
  if (isAgentStart(end)) return 'starts';
  return end.change.kind === 'nothing' ? 'plain' : 'others';
}

/**
 * Ends works of one process and kind in one transaction. Works that are no longer ours fail with
 * `WorkLost`, and nothing is written for them. A broken connection must not lose the result. While
 * the database is unreachable, the call is retried for a while, as long as the session lives.
 * @throws {Locked} another transaction had locked one of the works, or a tag: nothing was ended.
 * @throws {SessionExpired}
 */
export const endBatch = (
  session: LiveSession,
  kind: EndKind,
  ends: readonly End[],
): Promise<Outcome<void>[]> =>
  repeated({ ...session, isPassing: (error) => error instanceof Unreachable }, () =>
    endOnce(session, kind, ends),
  );

interface Released {
  /** Epochs of the works that were ours. */
  readonly epochs: ReadonlySet<unknown>;
  /** By epoch: why a work may not end this way; it stays as it is. */
  readonly refusals?: ReadonlyMap<string, string>;
}

function outcomeOf(held: HeldClaim, { epochs, refusals }: Released): Outcome<void> {
  const refusal = refusals?.get(held.epoch);
  if (refusal !== undefined) {
    return { error: new NothingToDo(`${held.process} of ${held.machineId}: ${refusal}`) };
  }
  return epochs.has(held.epoch) ? { ok: undefined } : { error: workLost(held) };
}

/** Machines without any request may have come back by themselves; those are left alone. */
async function refusalsOf(q: Queries, ends: readonly End[]): Promise<Map<string, string>> {
  const refusals = new Map<string, string>();
  for (const end of ends) {
    if (end.event !== 'Finished' || end.change.kind !== 'recovered' || !end.change.unasked)
      continue;
    const { session, process, machineId: machine } = end.held;
    const [found] = await q.rows(statementsFor(session.loss)[process], { machine });
    if (found?.refusal) refusals.set(end.held.epoch, found.refusal);
  }
  return refusals;
}

/** If the answer to the COMMIT is lost, finds out the result. */
async function endOnce(
  session: LiveSession,
  kind: EndKind,
  ends: readonly End[],
): Promise<Outcome<void>[]> {
  const { process } = ends[0]!.held;
  const doing = `end ${process} on ${describeMachines(ends.map(({ held }) => held.machineId))}`;
  const what = { doing, processor: processorOf(process) };
  try {
    const released = await WRITERS[kind](session, what, ends);
    return ends.map(({ held }) => outcomeOf(held, released));
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
    return resolve(session, kind, ends, error);
  }
}

type Writer = (
  session: LiveSession,
  what: { readonly doing: string; readonly processor: Processor },
  ends: readonly End[],
) => Promise<Released>;

const WRITERS: Readonly<Record<EndKind, Writer>> = {
  starts: async (session, what, ends) => ({
    epochs: await writeHeld(session, what, recordStarts(session, ends as AgentStart[])),
  }),
  plain: async (session, what, ends) => ({
    epochs: await writeHeld(session, what, [statements.release, releaseArgs(session, ends)]),
  }),
  others: (session, what, ends) =>
    transactFenced(session, { ...what, ...batchOptions(session) }, async (q) => {
      const refusals = await refusalsOf(q, ends);
      const wanted = ends.filter(({ held }) => !refusals.has(held.epoch));
      if (wanted.length === 0) return { epochs: new Set(), refusals };
      const rows = await q.rows(statements.release, releaseArgs(session, wanted));
      const epochs = heldEpochs(session, what.doing, rows);
      const ended = wanted.filter(({ held }) => epochs.has(held.epoch));
      await apply(q, session, ended);
      return { epochs, refusals };
    }),
};

/** The lost transaction did not end what is still held, and never will: repeat those. */
async function resolve(
  session: LiveSession,
  kind: EndKind,
  ends: readonly End[],
  lost: AmbiguousCommit,
): Promise<Outcome<void>[]> {
  const statuses = await claimStatusesOf(
    session,
    ends.map(({ held }) => held),
    lost,
  );
  const again = ends.filter(({ held }) => statuses.get(held.epoch) === 'held');
  const repeated = await onceMore(again, (those) => endBatch(session, kind, those));
  const outcomes = new Map(again.map((end, at) => [end, repeated[at]!]));
  return ends.map((end) => {
    const ended = statuses.get(end.held.epoch) === end.event;
    return outcomes.get(end) ?? (ended ? { ok: undefined } : { error: workLost(end.held, lost) });
  });
}

const releaseArgs = (session: LiveSession, ends: readonly End[]) =>
  heldArgs(
    session,
    ends.map(({ held, event, cause }) => [held, { process: held.process, event, cause }] as const),
  );

/** Writes what is true once the works have ended, in the same transaction. */
async function apply(q: Queries, session: LiveSession, ends: readonly End[]): Promise<void> {
  const finished = ends.filter((end) => end.event === 'Finished');
  const failed = ends.filter((end) => end.event === 'Failed');
  const cancelled = ends.filter((end) => end.event === 'Canceled');
  const rungs = await applyChanges(q, session, finished);
  await recordFailures(q, session, failed);
  await returnUnusedPermits(
    q,
    cancelled.map(({ held }) => ({ machine_id: held.machineId })),
  );
  const events = [
    ...finished.flatMap((end) => finishEvents(end, rungs)),
    ...failed.flatMap(failureEvents),
  ];
  await writeEvents(q, session, events);
}
