import type {
  Beaten,
  Deletion,
  GuardWrite,
  HistoryRow,
  LeaseChange,
  Lease,
  PermitChange,
  PulseWrite,
  SessionChange,
  TagWrite,
} from './evidence.ts';
import type { RestartablePostgres } from './postgres.ts';

/**
 * The test's own record of the database's events, kept by triggers that no daemon knows. A row
 * exists if and only if its transaction was committed.
 */
const INSTALL = `
  CREATE SCHEMA audit;
  CREATE TABLE audit.log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid text NOT NULL DEFAULT pg_current_xact_id()::text,
    begun_at timestamptz NOT NULL DEFAULT transaction_timestamp(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    port int DEFAULT inet_client_port(),
    tbl text NOT NULL,
    op text NOT NULL,
    old jsonb,
    new jsonb
  );
  CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO audit.log (tbl, op, new) VALUES (TG_TABLE_NAME, TG_OP, to_jsonb(NEW));
    ELSIF TG_OP = 'UPDATE' THEN
      INSERT INTO audit.log (tbl, op, old, new)
      VALUES (TG_TABLE_NAME, TG_OP, to_jsonb(OLD), to_jsonb(NEW));
    ELSE
      INSERT INTO audit.log (tbl, op, old) VALUES (TG_TABLE_NAME, TG_OP, to_jsonb(OLD));
    END IF;
    RETURN NULL;
  END $$;
  CREATE TABLE audit.beats (machine_id uuid NOT NULL, at timestamptz NOT NULL);
  CREATE FUNCTION audit.note_beat() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    INSERT INTO audit.beats VALUES (NEW.machine_id, NEW.agent_heartbeat_at);
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_beat AFTER INSERT OR UPDATE ON machine_agent_heartbeat
    FOR EACH ROW EXECUTE FUNCTION audit.note_beat();
`;
const WATCHED: Readonly<Record<string, string>> = {
  sessions: 'INSERT OR UPDATE OR DELETE',
  work: 'INSERT OR UPDATE OR DELETE',
  work_history: 'INSERT OR UPDATE OR DELETE',
  recovery_permits: 'INSERT OR DELETE',
  fleet_guard: 'INSERT OR UPDATE',
  guard_pulse: 'INSERT OR UPDATE',
  machine_agent_started: 'INSERT OR UPDATE',
  machine_agent_start_attempt: 'INSERT OR UPDATE',
  machine_recovery: 'INSERT OR UPDATE',
  machine_quarantined: 'INSERT OR UPDATE',
  machine_ssh_host_key: 'INSERT OR UPDATE',
  machine_boot_times: 'INSERT OR UPDATE',
  machine_agent_heartbeat: 'DELETE',
};

export async function installAudit({ sql }: Pick<RestartablePostgres, 'sql'>): Promise<void> {
  await sql(INSTALL);
  for (const [table, events] of Object.entries(WATCHED)) {
    await sql(`CREATE TRIGGER audit AFTER ${events} ON ${table}
      FOR EACH ROW EXECUTE FUNCTION audit.note()`);
  }
}

const ms = (expression: string) => `(extract(epoch FROM ${expression}) * 1000)::float8`;
const COMMON = `${ms('begun_at')} AS "begunAtMs", ${ms('at')} AS "atMs", port, xid`;

export interface AuditRecord {
  readonly sessions: SessionChange[];
  readonly leases: LeaseChange[];
  readonly history: HistoryRow[];
  /** Changed or removed history rows. */
  readonly rewritten: number;
  readonly permits: PermitChange[];
  readonly guard: GuardWrite[];
  readonly pulses: PulseWrite[];
  readonly tags: TagWrite[];
  readonly silenced: Deletion[];
  readonly beats: Beaten[];
}

/** All records, oldest first. */
export async function readAudit({ sql }: Pick<RestartablePostgres, 'sql'>): Promise<AuditRecord> {
  const sessions = await sql<SessionChange>(
    `SELECT ${COMMON}, coalesce(new, old)->>'session_id' AS "sessionId",
       ${ms(`(new->>'session_deadline')::timestamptz`)} AS "deadlineMs",
       substring(coalesce(new, old)->>'session_runtime_info' FROM '^host (.*)$') AS run
     FROM audit.log WHERE tbl = 'sessions' ORDER BY id`,
  );
  const leases = await sql<RawLease>(
    `SELECT ${COMMON}, coalesce(new, old)->>'machine_id' AS "machineId",
       coalesce(new, old)->>'exclusion_group' AS "group", ${leaseOf('old')}, ${leaseOf('new')}
     FROM audit.log WHERE tbl = 'work' ORDER BY id`,
  );
  const history = await sql<HistoryRow>(
    `SELECT ${COMMON}, new->>'machine_id' AS "machineId", new->>'process' AS process,
       new->>'event' AS event, new->>'session_id' AS "sessionId", new->>'epoch' AS epoch,
       new->>'seq' AS seq, new->>'failed_cause' AS cause
     FROM audit.log WHERE tbl = 'work_history' AND op = 'INSERT' ORDER BY id`,
  );
  const [{ count: rewritten } = { count: 0 }] = await sql<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM audit.log WHERE tbl = 'work_history' AND op <> 'INSERT'`,
  );
  const permits = await sql<PermitChange>(
    `SELECT ${COMMON}, op = 'INSERT' AS granted, coalesce(new, old)->>'machine_id' AS "machineId",
       coalesce(new, old)->>'provider' AS provider, coalesce(new, old)->>'location' AS location
     FROM audit.log WHERE tbl = 'recovery_permits' ORDER BY id`,
  );
  const time = (column: string) => ms(`(new->>'${column}')::timestamptz`);
  const guard = await sql<GuardWrite>(
    `SELECT ${COMMON}, new->>'scope' AS scope, ${time('frozen_at')} AS "frozenAtMs",
       ${time('ingest_up_since')} AS "upSinceMs"
     FROM audit.log WHERE tbl = 'fleet_guard' ORDER BY id`,
  );
  const pulses = await sql<PulseWrite>(
    `SELECT ${COMMON}, ${time('ingest_seen_at')} AS "seenAtMs"
     FROM audit.log WHERE tbl = 'guard_pulse' ORDER BY id`,
  );
  const tags = await sql<TagWrite>(
    `SELECT ${COMMON}, tbl AS "table", new->>'machine_id' AS "machineId",
       ${ms(`coalesce(new->>'attempted_at', new->>'asked_at')::timestamptz`)} AS "askedMs"
     FROM audit.log WHERE tbl = ANY ($1) AND op <> 'DELETE' ORDER BY id`,
    [Object.keys(WATCHED).filter((name) => name.startsWith('machine_'))],
  );
  const silenced = await sql<Deletion>(
    `SELECT ${COMMON}, old->>'machine_id' AS "machineId"
     FROM audit.log WHERE tbl = 'machine_agent_heartbeat' ORDER BY id`,
  );
  const beats = await sql<Beaten>(
    `SELECT machine_id AS "machineId", ${ms('at')} AS "atMs" FROM audit.beats`,
  );
  return {
    beats,
    sessions,
    leases: leases.map(toLease),
    history,
    rewritten,
    permits,
    guard,
    pulses,
    tags,
    silenced,
  };
}

const leaseOf = (side: 'old' | 'new') => `CASE WHEN ${side}->>'session_id' IS NOT NULL
  THEN jsonb_build_object('sessionId', ${side}->>'session_id', 'epoch', ${side}->>'epoch',
    'process', ${side}->>'process') END AS "${side}"`;
type RawLease = Omit<LeaseChange, 'from' | 'to'> & { old: Lease | null; new: Lease | null };
const toLease = ({ old, new: now, ...rest }: RawLease): LeaseChange => ({
  ...rest,
  from: old,
  to: now,
});
