import type { Outcome } from '../../../../domain/batcher.ts';
import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { AmbiguousCommit, NothingToDo, Unreachable } from '../../../../domain/errors.ts';
import type { Process } from '../../../../domain/machine.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { returnUnusedPermits } from '../claims/cancel.ts';
import { workLost } from '../claims/held-claim.ts';
import type { End, HeldClaim } from '../claims/held-claim.ts';
import { batchOptions, declareDead, liveSession, transactFenced, writeEvents } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { claimStatusesOf } from './ambiguous-commits.ts';
import type { Queries } from '../pool.ts';
import { repeated } from '../repeat.ts';
import { statement } from '../statement.ts';
import { applyChanges, failureEvents, finishEvents, recordFailures } from './tags.ts';

export const statements = {
  /**
   * Releases the leases that are still ours, with a line of history each; a finish also ends the
   * backoff. Waits a little for whoever has locked one of them: a note of the same work, or somebody
   * who takes us for dead.
   */
  release: statement({
    name: 'work-release',
    params: {
      session: 'uuid',
      machines: 'uuid[]',
      groups: 'text[]',
      epochs: 'int8[]',
      processes: 'process[]',
      events: 'work_history_event[]',
      causes: 'text?[]',
    },
    columns: { alive: 'bool', released: 'int8[]' },
    text: ({ session, machines, groups, epochs, processes, events, causes }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      held AS MATERIALIZED (
        SELECT e.* FROM me CROSS JOIN
          unnest(${machines}, ${groups}, ${epochs}, ${processes}, ${events}, ${causes})
            AS e (machine_id, exclusion_group, epoch, process, event, failed_cause)
          JOIN work w ON w.machine_id = e.machine_id AND w.exclusion_group = e.exclusion_group
        WHERE w.epoch = e.epoch AND w.session_id = me.session_id
        ORDER BY w.machine_id, w.exclusion_group FOR UPDATE OF w
      ), released AS (
        UPDATE work w SET session_id = NULL, process = NULL, work_started_at = NULL FROM held h
        WHERE w.machine_id = h.machine_id AND w.exclusion_group = h.exclusion_group
        RETURNING h.machine_id, h.process, h.event, h.failed_cause, h.epoch
      ), written AS (
        INSERT INTO work_history
          (machine_id, process, event, failed_cause, session_id, component, epoch)
        SELECT r.machine_id, r.process, r.event, r.failed_cause, me.session_id,
          me.session_component_name, r.epoch
        FROM released r, me
      ), forgotten AS (
        DELETE FROM work_backoff b USING released r
        WHERE r.event = 'Finished' AND b.machine_id = r.machine_id AND b.process = r.process
      )
      SELECT EXISTS (SELECT 1 FROM me) AS alive, ARRAY(SELECT epoch FROM released) AS released`,
  }),
};

/**
 * Ends works of one process in one transaction; those that are no longer ours are `WorkLost`, and
 * nothing is written for them. What was worked out must not be lost for a broken connection: while
 * the database cannot be reached it is tried again, for a while and as long as the session lives.
 * @throws {Locked} somebody else had locked one of them, or a tag: nothing was ended.
 * @throws {SessionExpired}
 */
export const endBatch = (
  session: LiveSession,
  process: Process,
  ends: readonly End[],
): Promise<Outcome<void>[]> =>
  repeated({ ...session, isPassing: (error) => error instanceof Unreachable }, () =>
    endOnce(session, process, ends),
  );

interface Released {
  /** Epochs of those that were ours. */
  readonly epochs: ReadonlySet<unknown>;
  /** By epoch: why a work may not be ended so; it is left as it is. */
  readonly refusals: ReadonlyMap<string, string>;
}

function outcomeOf(held: HeldClaim, { epochs, refusals }: Released): Outcome<void> {
  const refusal = refusals.get(held.epoch);
  if (refusal !== undefined) {
    return { error: new NothingToDo(`${held.process} of ${held.machineId}: ${refusal}`) };
  }
  return epochs.has(held.epoch) ? { ok: undefined } : { error: workLost(held) };
}

/** Machines that nothing was asked of may have come back by themselves: those are left alone. */
async function refusalsOf(q: Queries, ends: readonly End[]): Promise<Map<string, string>> {
  const refusals = new Map<string, string>();
  for (const end of ends) {
    if (end.event !== 'Finished' || !end.condition) continue;
    const [found] = await q.rows(end.condition, { machine: end.held.machineId });
    if (found?.refusal) refusals.set(end.held.epoch, found.refusal);
  }
  return refusals;
}

/** When the answer to its COMMIT is lost, finds out. */
async function endOnce(
  session: LiveSession,
  process: Process,
  ends: readonly End[],
): Promise<Outcome<void>[]> {
  const doing = `end ${process} on ${describe(ends)}`;
  try {
    const options = { doing, ...batchOptions(session), processor: processorOf(process) };
    const released = await transactFenced(session, options, async (q) => {
      const refusals = await refusalsOf(q, ends);
      const wanted = ends.filter(({ held }) => !refusals.has(held.epoch));
      const epochs = wanted.length > 0 ? await release(q, session, doing, wanted) : new Set();
      await apply(
        q,
        session,
        wanted.filter(({ held }) => epochs.has(held.epoch)),
      );
      return { epochs, refusals };
    });
    return ends.map(({ held }) => outcomeOf(held, released));
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
    return resolve(session, process, ends, error);
  }
}

/** What is still held was not ended by the lost transaction, and never will be: once more. */
async function resolve(
  session: LiveSession,
  process: Process,
  ends: readonly End[],
  lost: AmbiguousCommit,
): Promise<Outcome<void>[]> {
  const statuses = await claimStatusesOf(
    session,
    ends.map(({ held }) => held),
    lost,
  );
  const again = ends.filter(({ held }) => statuses.get(held.epoch) === 'held');
  const repeated = again.length > 0 ? await endBatch(session, process, again) : [];
  const outcomes = new Map(again.map((end, at) => [end, repeated[at]!]));
  return ends.map((end) => {
    const ended = statuses.get(end.held.epoch) === end.event;
    return outcomes.get(end) ?? (ended ? { ok: undefined } : { error: workLost(end.held, lost) });
  });
}

const describe = (ends: readonly End[]): string =>
  ends.length === 1 ? ends[0]!.held.machineId : `${ends.length} machines`;

/** @returns epochs of those that were ours. */
async function release(
  q: Queries,
  session: LiveSession,
  doing: string,
  ends: readonly End[],
): Promise<Set<string>> {
  const [row] = await q.rows(statements.release, {
    session: session.sessionId,
    machines: ends.map(({ held }) => held.machineId),
    groups: ends.map(({ held }) => exclusionGroup(held.process)),
    epochs: ends.map(({ held }) => held.epoch),
    processes: ends.map(({ held }) => held.process),
    events: ends.map(({ event }) => event),
    causes: ends.map(({ cause }) => cause),
  });
  if (!row!.alive) throw declareDead(session, doing);
  return new Set(row!.released);
}

/** What is true once the works have ended, in the same transaction. */
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
