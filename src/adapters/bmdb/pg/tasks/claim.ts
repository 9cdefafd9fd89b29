import type { Outcome } from '../../../../lib/batcher.ts';
import { exclusionGroup, isLadder } from '../../../../domain/eligibility.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { PROCESSES } from '../../../../domain/machine.ts';
import type { MachineRow, Process } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { cancelDead } from '../claims/cancel.ts';
import { busyRows, refusalSql } from '../eligibility.ts';
import type { Busy } from '../eligibility.ts';
import { refusalError } from '../claims/held-claim.ts';
import type { TakenClaim } from '../claims/held-claim.ts';
import type { GuardCountStatements } from '../guard/guard-counts.ts';
import { commitFenced, declareDead, liveSession, statements as live } from '../live.ts';
import type { LiveOptions, LiveSession } from '../live.ts';
import {
  BACKOFF_LIST,
  MACHINE_COLUMNS,
  MACHINE_TABLES,
  machineSql,
  toMachine,
  WORK_LIST,
} from '../reading/machine-row.ts';
import { refuseClaims } from '../recovery/permits.ts';
import type { LadderStatements } from '../recovery/permits.ts';
import type { Queries } from '../pool.ts';
import { LIVE, ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

const COLUMNS = {
  ...MACHINE_COLUMNS,
  /** Null: nothing forbids it. */
  refusal: 'text?',
  /** Somebody had the lease; where nothing forbids the claim, a session that is dead. */
  held: 'bool',
  /** The claim got the lease. */
  taken_epoch: 'int8?',
  taken_at: 'float8',
  alive: 'bool',
} as const;

/**
 * Takes those machines that the process may be started on and nobody works on.
 *
 * Predicate and leases are read in one snapshot. A lease that somebody locked is passed over; one
 * that changed since the snapshot (then the predicate may have, too) has another epoch or holder,
 * which READ COMMITTED looks at again once the row is locked. So nothing is taken on what was true
 * before another claim began, and no claim waits for another, so that none can block in a circle.
 * Where there is no lease yet, inserting the row is the claim, and its key excludes all others.
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
            ${refusalSql(process, loss, BUSY)} AS refusal,
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

/** All of a machine's work, and the lease of the process's group. */
const worksSql = (process: Process) => `
  SELECT ${WORK_LIST} FILTER (WHERE s.session_id IS NOT NULL) AS list,
    coalesce(bool_or(${busyRows(process).unknownWork} AND s.session_id IS NOT NULL), false) AS unknown,
    coalesce(bool_or(${busyRows(process).working} AND s.session_id IS NOT NULL), false) AS working,
    max(w.epoch) FILTER (WHERE ${busyRows(process).working}) AS epoch,
    bool_or(w.session_id IS NOT NULL) FILTER (WHERE ${busyRows(process).working}) AS held
  FROM work w LEFT JOIN sessions s ON s.session_id = w.session_id AND ${LIVE}
  WHERE w.machine_id = m.machine_id`;
/** All of its backoffs. */
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

export const statementsFor = (loss: LossPolicy): Record<Process, ClaimStatement> =>
  Object.fromEntries(
    PROCESSES.map((process) => [process, claimStatement(process, loss)]),
  ) as Record<Process, ClaimStatement>;

/** What a batch of claims is about, and the statements for it. */
export interface Claiming {
  readonly session: LiveSession;
  readonly process: Process;
  readonly statement: ClaimStatement;
  readonly ladder: LadderStatements;
  readonly counting: GuardCountStatements;
  /** The newest epoch that the session has heard of; those of later claims are greater. */
  readonly newest: { epoch: bigint };
}

/** For each machine: the claim, or why there is none. */
export type Verdicts = Map<MachineId, Outcome<TakenClaim>>;

/** Claims machines. Part of a transaction at READ COMMITTED. @throws {SessionExpired} */
export async function take(
  q: Queries,
  claiming: Claiming,
  machines: readonly MachineId[],
): Promise<Verdicts> {
  if (!isLadder(claiming.process)) return takeLeases(q, claiming, machines);
  const refused = await refuseClaims(q, claiming, machines);
  const open = machines.filter((id) => !refused.has(id));
  if (open.length === 0) return refused;
  return new Map([...refused, ...(await takeLeases(q, claiming, open))]);
}

/**
 * Claims machines in one statement that commits by itself. Null: it takes more than that, as the lease
 * is that of a dead session.
 * @throws {SessionExpired} @throws {AmbiguousCommit} @throws {Locked} nothing was taken.
 */
export async function takeAtOnce(
  claiming: Claiming,
  what: Pick<LiveOptions, 'doing' | 'processor'>,
  machines: readonly MachineId[],
): Promise<Outcome<TakenClaim | null>[]> {
  const { session, statement: sql } = claiming;
  const args = { session: session.sessionId, machines };
  const found = await commitFenced(session, what, [sql, args]);
  // Of machines that are not there it does not tell whether the session lives.
  if (found.length === 0) return machines.map(() => ({ ok: null }));
  const rows = rowsById(session, what.doing, found);
  return machines.map((id) =>
    isDead(rows.get(id)) ? { ok: null } : verdictOf(claiming, id, rows.get(id)),
  );
}

/** Leases of dead sessions are released, and taken in a second turn. */
async function takeLeases(
  q: Queries,
  claiming: Claiming,
  machines: readonly MachineId[],
): Promise<Verdicts> {
  const rows = await claimRows(q, claiming, machines);
  const dead = machines.filter((id) => isDead(rows.get(id)));
  if (dead.length > 0) {
    await cancelDead(q, dead, exclusionGroup(claiming.process));
    const again = await claimRows(q, claiming, dead);
    for (const [id, row] of again) rows.set(id, row);
  }
  return new Map(machines.map((id) => [id, verdictOf(claiming, id, rows.get(id))]));
}

const isDead = (row: ClaimRow | undefined): boolean =>
  row !== undefined && row.refusal === null && row.held && row.taken_epoch === null;

async function claimRows(
  q: Queries,
  { session, process, statement: sql }: Claiming,
  machines: readonly MachineId[],
): Promise<ClaimRows> {
  const doing = `claim machines for ${process}`;
  const rows = await q.rows(sql, { session: session.sessionId, machines });
  if (rows.length === 0 && !(await isAlive(q, session))) throw declareDead(session, doing);
  return rowsById(session, doing, rows);
}

type ClaimRows = Map<string, ClaimRow>;

/** @throws {SessionExpired} */
function rowsById(session: LiveSession, doing: string, rows: readonly ClaimRow[]): ClaimRows {
  if (rows[0]?.alive === false) throw declareDead(session, doing);
  return new Map(rows.map((row) => [row.machine_id, row]));
}

/** For a claim of machines of which none exists. */
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

/** The row as the claim made it: its own work was not there yet when it was read. */
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
