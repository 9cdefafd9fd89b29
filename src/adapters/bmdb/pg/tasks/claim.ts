import type { Outcome } from '../../../../lib/batcher.ts';
import { exclusionGroup, isLadder } from '../../../../domain/eligibility.ts';
import { AmbiguousCommit } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { PROCESSES } from '../../../../domain/machine.ts';
import type { MachineRow, Process } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { createBatches, oneForEach, onceMore } from '../batches.ts';
import { cancelDead } from '../claims/cancel.ts';
import { describeMachines, refusalError } from '../claims/held-claim.ts';
import type { TakenClaim } from '../claims/held-claim.ts';
import { busyRows, ruleSql } from '../eligibility.ts';
import type { Busy } from '../eligibility.ts';
import { isReferenceViolation } from '../errors.ts';
import {
  batchOptions,
  commitFenced,
  declareDead,
  liveSession,
  requireInTime,
  statements as live,
  transactFenced,
  transactLive,
} from '../live.ts';
import type { LiveSession } from '../live.ts';
import {
  BACKOFF_LIST,
  MACHINE_COLUMNS,
  MACHINE_TABLES,
  machineSql,
  toMachine,
  WORK_LIST,
} from '../reading/machine-row.ts';
import { refuseClaims } from '../recovery/permits.ts';
import type { Queries } from '../pool.ts';
import { LIVE, ms } from '../sql.ts';
import { madeOnce, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import { claimsTaken } from './ambiguous-commits.ts';

const COLUMNS = {
  ...MACHINE_COLUMNS,
  /** Null if nothing forbids the claim. */
  refusal: 'text?',
  /** Another session had the lease; if nothing forbids the claim, that session is dead. */
  held: 'bool',
  /** Epoch of the new lease; null if the claim did not get it. */
  taken_epoch: 'int8?',
  taken_at: 'float8',
  alive: 'bool',
} as const;

/**
 * Takes the machines on which the process may start and nobody works.
 *
 * One snapshot reads predicate and leases. A locked lease is skipped. A lease that changed since
 * the snapshot has another epoch or holder, and the predicate may have changed, too. READ COMMITTED
 * checks both again under the row lock. So no claim acts on facts from before another claim, and no
 * claim waits for another, so claims cannot deadlock. If no lease row exists, inserting it is the
 * claim, and the row's key excludes all others.
 */
const claimStatement = (process: Process, loss: LossPolicy) =>
  statement({
    name: `claim-${process}`,
    params: { session: 'uuid', machines: 'uuid[]' },
    columns: COLUMNS,
    text: ({ session, machines }) => {
      const group = `'${exclusionGroup(process)}'`;
      return `
        WITH me AS MATERIALIZED (${liveSession(session)}),
        seen AS MATERIALIZED (
          SELECT ${machineSql({ work: 'works.list', backoffs: 'waits.list' })},
            ${ruleSql('refusal', process, loss, BUSY)} AS refusal,
            works.epoch, works.held
          FROM ${MACHINE_TABLES}
            CROSS JOIN LATERAL (${worksSql(process)}) works
            CROSS JOIN LATERAL (${waitsSql(process)}) waits
          WHERE m.machine_id = ANY (${machines})
        ), free AS MATERIALIZED (
          SELECT w.machine_id FROM seen JOIN work w
            ON w.machine_id = seen.machine_id AND w.exclusion_group = ${group}
          WHERE EXISTS (SELECT 1 FROM me) AND seen.refusal IS NULL
            AND w.session_id IS NULL AND w.epoch = seen.epoch
          ORDER BY w.machine_id FOR UPDATE OF w SKIP LOCKED
        ), leased AS (
          UPDATE work w SET session_id = me.session_id, process = '${process}',
            epoch = nextval('work_epoch'), work_started_at = now()
          FROM free, me WHERE w.machine_id = free.machine_id AND w.exclusion_group = ${group}
          RETURNING w.machine_id, w.epoch
        ), first AS (
          INSERT INTO work (machine_id, exclusion_group, session_id, process, work_started_at)
          SELECT seen.machine_id, ${group}, me.session_id, '${process}', now() FROM seen, me
          WHERE seen.refusal IS NULL AND seen.epoch IS NULL
          ORDER BY seen.machine_id
          ON CONFLICT DO NOTHING RETURNING machine_id, epoch
        ), taken AS (
          SELECT machine_id, epoch FROM leased UNION ALL SELECT machine_id, epoch FROM first
        ), started AS (
          INSERT INTO work_history (machine_id, process, event, session_id, component, epoch)
          SELECT taken.machine_id, '${process}', 'Started', me.session_id,
            me.session_component_name, taken.epoch
          FROM taken, me
        )
        SELECT ${Object.keys(MACHINE_COLUMNS)
          .map((column) => `seen.${column}`)
          .join(', ')},
          seen.refusal, coalesce(seen.held, false) AS held, taken.epoch AS taken_epoch,
          ${ms('now()')} AS taken_at, EXISTS (SELECT 1 FROM me) AS alive
        FROM seen LEFT JOIN taken ON taken.machine_id = seen.machine_id`;
    },
  });

/** All of a machine's work, and the lease of the process's exclusion group. */
const worksSql = (process: Process) => `
  SELECT ${WORK_LIST} FILTER (WHERE s.session_id IS NOT NULL) AS list,
    coalesce(bool_or(${busyRows(process).unknownWork} AND s.session_id IS NOT NULL), false) AS unknown,
    coalesce(bool_or(${busyRows(process).working} AND s.session_id IS NOT NULL), false) AS working,
    max(w.epoch) FILTER (WHERE ${busyRows(process).working}) AS epoch,
    bool_or(w.session_id IS NOT NULL) FILTER (WHERE ${busyRows(process).working}) AS held
  FROM work w LEFT JOIN sessions s ON s.session_id = w.session_id AND ${LIVE}
  WHERE w.machine_id = m.machine_id`;
/** All of a machine's backoffs. */
const waitsSql = (process: Process) => `
  SELECT ${BACKOFF_LIST} AS list,
    coalesce(bool_or(${busyRows(process).unknownBackoff}), false) AS unknown,
    coalesce(bool_or(${busyRows(process).waiting}), false) AS waiting
  FROM work_backoff b WHERE b.machine_id = m.machine_id`;
const BUSY: Busy = {
  unreadable: '(works.unknown OR waits.unknown)',
  working: 'works.working',
  waiting: 'waits.waiting',
};

type ClaimStatement = ReturnType<typeof claimStatement>;
type ClaimRow = RowOf<typeof COLUMNS>;

export const statementsFor = madeOnce(
  (loss: LossPolicy) =>
    Object.fromEntries(
      PROCESSES.map((process) => [process, claimStatement(process, loss)]),
    ) as Record<Process, ClaimStatement>,
);

/** Context of the claims of one process, with their statements. */
interface Claiming {
  readonly session: LiveSession;
  readonly process: Process;
  readonly statement: ClaimStatement;
  /** Newest epoch known to the session; later claims have greater epochs. */
  readonly newest: { epoch: bigint };
}

/**
 * Claims of one session, in batches: concurrent claims share a statement, or a transaction if more
 * has to be checked. See `BmdbSession.claim`.
 */
export function createClaims(
  session: LiveSession,
): (process: Process, machineId: MachineId) => Promise<TakenClaim> {
  const claims = statementsFor(session.loss);
  const newest = { epoch: 0n };
  const claimersWith = <Result>(take: Take<Result>) =>
    oneForEach((process: Process) => {
      const claiming = { session, process, statement: claims[process], newest };
      return createBatches<MachineId, Result | TakenClaim>({
        ...(isLadder(process) && { concurrency: 1 }),
        keyOf: (machineId) => machineId,
        run: (machines) => claim(claiming, machines, take),
      });
    });
  const quick = claimersWith(takeAtOnce);
  const careful = claimersWith(takeCarefully);
  return async (process, machineId) =>
    (isLadder(process) ? null : await quick(process).submit(machineId)) ??
    (await careful(process).submit(machineId));
}

type Outcomes<Result> = Outcome<Result | TakenClaim>[];
type Take<Result> = (
  claiming: Claiming,
  doing: string,
  machines: readonly MachineId[],
) => Promise<Outcomes<Result>>;

/**
 * Claims machines. If the answer to the COMMIT is lost, finds out which were taken and claims the
 * others again. A lease taken too late dies with its session.
 */
async function claim<Result>(
  claiming: Claiming,
  machines: readonly MachineId[],
  take: Take<Result>,
): Promise<Outcomes<Result>> {
  const { session, process, newest } = claiming;
  const doing = `claim ${describeMachines(machines)} for ${process}`;
  const sent = { process, machines, newest: newest.epoch };
  try {
    const outcomes = await take(claiming, doing, machines);
    requireInTime(session, doing);
    return outcomes;
  } catch (error) {
    // A machine was deleted during the first claim of its group; the next attempt finds it gone.
    if (isReferenceViolation(error)) return claim(claiming, machines, take);
    if (!(error instanceof AmbiguousCommit)) throw error;
    const taken = await claimsTaken(session, sent, error);
    const again = machines.filter((id) => !taken.has(id));
    const repeated = await onceMore(again, (those) => claim(claiming, those, take));
    const outcomes = new Map(again.map((id, at) => [id, repeated[at]!]));
    requireInTime(session, doing);
    return machines.map((id) => outcomes.get(id) ?? { ok: taken.get(id)! });
  }
}

/**
 * Claims in one statement that commits by itself. Null if that is not enough, because a dead
 * session holds the lease.
 * @throws {SessionExpired} @throws {AmbiguousCommit} @throws {Locked} nothing was taken.
 */
async function takeAtOnce(
  claiming: Claiming,
  doing: string,
  machines: readonly MachineId[],
): Promise<Outcomes<null>> {
  const { session, process, statement: sql } = claiming;
  const args = { session: session.sessionId, machines };
  const what = { doing, processor: processorOf(process) };
  const found = await commitFenced(session, what, [sql, args]);
  // If no machine exists, the answer does not tell whether the session lives.
  if (found.length === 0) return machines.map(() => ({ ok: null }));
  const rows = rowsById(session, doing, found);
  return machines.map((id) =>
    isDead(rows.get(id)) ? { ok: null } : verdictOf(claiming, id, rows.get(id)),
  );
}

/** Claims in one transaction, which asks the guard and releases leases of dead sessions. */
async function takeCarefully(
  claiming: Claiming,
  doing: string,
  machines: readonly MachineId[],
): Promise<Outcomes<never>> {
  const { session, process } = claiming;
  const transact = isLadder(process) ? transactLive : transactFenced;
  const options = { doing, ...batchOptions(session), processor: processorOf(process) };
  return transact(session, options, async (q) => {
    const refused = isLadder(process) ? await refuseClaims(q, claiming, machines) : new Map();
    const open = machines.filter((id) => !refused.has(id));
    const rows = await claimRows(q, claiming, open);
    // These are taken in a second attempt.
    const dead = open.filter((id) => isDead(rows.get(id)));
    if (dead.length > 0) {
      await cancelDead(q, dead, exclusionGroup(process));
      for (const [id, row] of await claimRows(q, claiming, dead)) rows.set(id, row);
    }
    return machines.map((id) => refused.get(id) ?? verdictOf(claiming, id, rows.get(id)));
  });
}

const isDead = (row: ClaimRow | undefined): boolean =>
  row !== undefined && row.refusal === null && row.held && row.taken_epoch === null;

async function claimRows(
  q: Queries,
  { session, process, statement: sql }: Claiming,
  machines: readonly MachineId[],
): Promise<Map<string, ClaimRow>> {
  if (machines.length === 0) return new Map();
  const doing = `claim machines for ${process}`;
  const rows = await q.rows(sql, { session: session.sessionId, machines });
  if (rows.length === 0 && !(await isAlive(q, session))) throw declareDead(session, doing);
  return rowsById(session, doing, rows);
}

/** @throws {SessionExpired} */
function rowsById(
  session: LiveSession,
  doing: string,
  rows: readonly ClaimRow[],
): Map<string, ClaimRow> {
  if (rows[0]?.alive === false) throw declareDead(session, doing);
  return new Map(rows.map((row) => [row.machine_id, row]));
}

/** For claims of machines none of which exists. */
const isAlive = async (q: Queries, session: LiveSession): Promise<boolean> =>
  (await q.rows(live.checkSession, { session: session.sessionId })).length > 0;

function verdictOf(
  claiming: Claiming,
  machineId: MachineId,
  row: ClaimRow | undefined,
): Outcome<TakenClaim> {
  if (row?.taken_epoch) return { ok: takenFrom(claiming, row, row.taken_epoch) };
  return {
    error: refusalError(claiming.process, machineId, row ? row.refusal : 'unknown machine'),
  };
}

/** The row with the claim applied: the row was read before its own work existed. */
function takenFrom(
  { session, process, newest }: Claiming,
  flat: ClaimRow,
  epoch: string,
): TakenClaim {
  const number = BigInt(epoch);
  if (number > newest.epoch) newest.epoch = number;
  const row: MachineRow = toMachine(flat);
  const mine = { process, sessionId: session.sessionId, epoch, startedAtMs: flat.taken_at };
  return { epoch, row: { ...row, work: [...row.work, mine] } };
}
