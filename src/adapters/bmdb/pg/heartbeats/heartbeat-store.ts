import type { HeartbeatRecord } from '../../../../domain/heartbeat.ts';
import { LADDER_RESET_MS, PERMIT_RETURNED_AFTER } from '../../../../domain/policy.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { ACCEPTANCES_DUE } from './acceptances.ts';
import { named, statement } from '../statement.ts';
import type { ArgsOf, RowOf } from '../statement.ts';

// No joins here: whatever the tables held at planning time, each row must cost one look-up by key.
// IS TRUE keeps IN from becoming a join, so the list goes into a hash table. A scalar subquery is
// evaluated per row; for EXISTS the server might scan the whole table.
const isIn = (row: string, list: string) => `((${row}) IN (${list})) IS TRUE`;
/** Skips the look-ups while the table is empty. */
const ifAny = (table: string, found: string) =>
  `(SELECT EXISTS (SELECT 1 FROM ${table})) AND ${found}`;

const interval = (milliseconds: string) => `${milliseconds} * interval '1 millisecond'`;
const unbroken = (gapMs: string) => `h.agent_heartbeat_at + ${interval(gapMs)} >= now()`;

const PENDING = (machines: string) => `SELECT r.machine_id FROM machine_os_installation_request r
  WHERE r.machine_id = ANY (${machines}) AND r.generation IS DISTINCT FROM (
    SELECT o.generation FROM machine_os_installation_report o WHERE o.machine_id = r.machine_id)`;
const WAITING = (machines: string) => `${PENDING(machines)} UNION ALL ${ACCEPTANCES_DUE(machines)}`;
const listedIn = (table: string) => (machines: string) =>
  `SELECT machine_id FROM ${table} WHERE machine_id = ANY (${machines})`;
const PERMIT = listedIn('recovery_permits');
const LADDER = listedIn('machine_recovery');
const PARKED = (machines: string) =>
  `${listedIn('machine_quarantined')(machines)} AND kind = 'needsHuman' AND cause IS NULL`;

const SENT = (machine: string, key: string) =>
  `a.machine_id = ${machine} AND a.agent_public_key IS NOT DISTINCT FROM ${key}`;

/**
 * Selects known agents. Inserts the rows that `beat` updates, dated at the start and not yet
 * counted, and records new boot ids. Both rows stay unchanged until the transaction ends. The start
 * is locked FOR SHARE, because a KEY SHARE lock would not stop a replacement of its key. A machine
 * that is not `ready` exists, or existed a moment ago, but another transaction holds a lock on one
 * of its rows.
 */
const admitting = <const Name extends string>(name: Name, locked: 'SKIP LOCKED' | '') =>
  statement({
    name,
    params: { sent: { machineId: 'uuid', publicKey: 'bytea', bootId: 'text?' } },
    columns: { place: 'int4', ready: 'bool' },
    text: ({ sent }) => `
      WITH known AS MATERIALIZED (
        SELECT b.nth AS place, b.boot_id, b.machine_id, started.at
        FROM (SELECT * FROM ${sent} ORDER BY machine_id) b LEFT JOIN LATERAL (
          SELECT a.agent_started_at AS at FROM machine_agent_started a
          WHERE ${SENT('b.machine_id', 'b.public_key')}
          FOR SHARE ${locked}
        ) started ON true
        WHERE (SELECT true FROM machine_agent_started a WHERE ${SENT('b.machine_id', 'b.public_key')})
      ), heard AS MATERIALIZED (
        SELECT h.machine_id FROM machine_agent_heartbeat h
        WHERE h.machine_id = ANY (ARRAY (SELECT machine_id FROM known WHERE at IS NOT NULL))
        FOR NO KEY UPDATE ${locked}
      ), checked AS MATERIALIZED (
        SELECT *, at IS NOT NULL AND (${isIn('machine_id', 'SELECT machine_id FROM heard')} OR (
          SELECT true FROM machine_agent_heartbeat h WHERE h.machine_id = known.machine_id
        ) IS NULL) AS ready
        FROM known
      ), fresh AS (
        INSERT INTO machine_agent_heartbeat AS h
          (machine_id, agent_heartbeat_at, boot_id, unbroken_count)
        SELECT machine_id, at, boot_id, 0 FROM checked WHERE ready
        ON CONFLICT (machine_id) DO UPDATE SET boot_id = excluded.boot_id
        WHERE excluded.boot_id IS DISTINCT FROM h.boot_id AND excluded.boot_id IS NOT NULL
      )
      SELECT place::int4 AS place, ready FROM checked`,
  });

export const statements = named('heartbeats', {
  /**
   * Records heartbeats of machines already heard under the same start. Waits for nobody: locked
   * rows are skipped. A transaction that replaces or deletes a start also deletes this row next.
   * That delete waits for us, or already holds the lock, or has left nothing to update. So the
   * start's row needs no lock.
   *
   * Updating by ctid saves a second index look-up, which locking first would cost. A row that moved
   * since the statement began is skipped, too.
   */
  beat: statement({
    params: { machines: 'uuid[]', keys: 'bytea[]', gapMs: 'float8', resetMs: 'float8' },
    // Each line of `heard` is a machine id and, from its 37th character on, the recorded boot id.
    // The other lists are separated by commas. `pending`: an installation or acceptance is due. `permit`: the
    // machine no longer needs its permit. `ladder`: the ladder no longer needs to remember the
    // machine. `parked`: the machine no longer needs a human.
    columns: {
      at: 'float8',
      heard: 'text',
      pending: 'text?',
      permit: 'text?',
      ladder: 'text?',
      parked: 'text?',
    },
    text: ({ machines, keys, gapMs, resetMs }) => `
      WITH beats AS (
        UPDATE machine_agent_heartbeat h
        SET agent_heartbeat_at = greatest(h.agent_heartbeat_at, now()),
          unbroken_since = CASE WHEN ${unbroken(gapMs)} THEN h.unbroken_since ELSE now() END,
          unbroken_count = CASE WHEN ${unbroken(gapMs)} THEN h.unbroken_count + 1 ELSE 1 END
        WHERE h.ctid = ANY (ARRAY (
          SELECT f.ctid FROM machine_agent_heartbeat f
          WHERE f.machine_id = ANY (ARRAY (
            SELECT a.machine_id FROM machine_agent_started a
            WHERE a.machine_id = ANY (${machines}) AND ${isIn(
              'a.machine_id, a.agent_public_key',
              `SELECT * FROM unnest(${machines}, ${keys})`,
            )}))
          FOR NO KEY UPDATE SKIP LOCKED))
        RETURNING h.machine_id, h.boot_id, h.agent_heartbeat_at,
          h.unbroken_count >= ${PERMIT_RETURNED_AFTER} AS well,
          now() >= h.unbroken_since + ${interval(resetMs)} AS steady
      ), told AS (
        SELECT machine_id, boot_id, agent_heartbeat_at,
          ((SELECT EXISTS (SELECT 1 FROM machine_os_installation_request))
            OR (SELECT EXISTS (SELECT 1 FROM machine_acceptances WHERE state = 'due')))
            AND ${isIn('beats.machine_id', WAITING(machines))} AS pending,
          well AND ${ifAny('recovery_permits', isIn('beats.machine_id', PERMIT(machines)))} AS permit,
          steady AND ${ifAny('machine_recovery', isIn('beats.machine_id', LADDER(machines)))} AS ladder,
          steady AND ${ifAny('machine_quarantined', isIn('beats.machine_id', PARKED(machines)))} AS parked
        FROM beats
      )
      SELECT ${ms('agent_heartbeat_at')} AS at,
        string_agg(machine_id::text || coalesce(boot_id, ''), E'\\n') AS heard,
        string_agg(machine_id::text, ',') FILTER (WHERE pending) AS pending,
        string_agg(machine_id::text, ',') FILTER (WHERE permit) AS permit,
        string_agg(machine_id::text, ',') FILTER (WHERE ladder) AS ladder,
        string_agg(machine_id::text, ',') FILTER (WHERE parked) AS parked
      FROM told GROUP BY agent_heartbeat_at`,
  }),
  /** Skips locked rows. */
  admit: admitting('heartbeats-admit', 'SKIP LOCKED'),
  /** Waits for locked rows, as long as the transaction's time limit allows. */
  admitPatiently: admitting('heartbeats-admit-patiently', ''),
});

/** What a heartbeat reveals. */
export interface Beat {
  /** Database time, epoch ms. */
  readonly atMs: number;
  /** True if the heartbeat has no boot id, or the recorded one. */
  readonly isSameBoot: boolean;
  /** An installation or an acceptance is due. */
  readonly pending: boolean;
  readonly permit: boolean;
  readonly ladder: boolean;
  readonly parked: boolean;
}
export type Beats = ReadonlyMap<HeartbeatRecord, Beat>;

type BeatArgs = ArgsOf<(typeof statements.beat)['params']>;
type BeatRow = RowOf<(typeof statements.beat)['columns']>;

/** Records by machine: one for each. */
export type Round = ReadonlyMap<string, HeartbeatRecord>;

/** Arguments of `statements.beat`; `toBeats` reads its answer. */
export const beatArgs = (round: Round, loss: LossPolicy): BeatArgs => ({
  machines: [...round.keys()],
  keys: Array.from(round.values(), (record) => record.publicKey),
  gapMs: 2 * loss.periodMs,
  resetMs: loss.ladderResetMs ?? LADDER_RESET_MS,
});

const UUID_LENGTH = 36;
const NOBODY: ReadonlySet<string> = new Set();
const listed = (list: string | null) => (list === null ? NOBODY : new Set(list.split(',')));

/** Returns the accepted heartbeats. */
export function toBeats(rows: readonly BeatRow[], round: Round): Beats {
  const beats = new Map<HeartbeatRecord, Beat>();
  for (const row of rows) {
    const lists = [row.pending, row.permit, row.ladder, row.parked].map(listed);
    const [pending, permit, ladder, parked] = lists;
    for (const line of row.heard.split('\n')) {
      const machine = line.slice(0, UUID_LENGTH);
      const record = round.get(machine)!;
      beats.set(record, {
        atMs: row.at,
        isSameBoot: record.bootId === null || record.bootId === line.slice(UUID_LENGTH),
        pending: pending!.has(machine),
        permit: permit!.has(machine),
        ladder: ladder!.has(machine),
        parked: parked!.has(machine),
      });
    }
  }
  return beats;
}

/** Whether to skip machines with locked rows, or to wait for the locks. */
export type Manner = 'passing' | 'patient';

export interface Admitted {
  /** At most one record per machine; `beat` will accept these from now on. */
  readonly known: readonly HeartbeatRecord[];
  /** Another transaction has locked one of their rows, so nothing can be said about them. */
  readonly held: readonly HeartbeatRecord[];
}

/** Finds the known agents; unknown ones are in neither list. */
export async function admit(
  q: Queries,
  records: readonly HeartbeatRecord[],
  manner: Manner,
): Promise<Admitted> {
  const admitting = manner === 'passing' ? statements.admit : statements.admitPatiently;
  const rows = await q.rows(admitting, { sent: records });
  const those = (ready: boolean) =>
    rows.filter((row) => row.ready === ready).map(({ place }) => records[place - 1]!);
  return { known: those(true), held: those(false) };
}
