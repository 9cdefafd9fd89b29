import { machineId, providerName, sessionId, witness } from '../../../domain/ids.ts';
import type {
  BackoffRow,
  HoldKind,
  HoldRow,
  IntentRow,
  LiveWork,
  MachineRow,
  PenaltyRow,
  Process,
  Provided,
  ProviderStatus,
  QuarantineKind,
  Rung,
} from '../../../domain/machine.ts';
import type { BmdbSnapshot } from '../port.ts';
import type { Queries } from './pool.ts';

/** A timestamp as whole epoch milliseconds. */
export const ms = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::float8`;
/** Work counts only while its session lives. */
export const LIVE = 's.session_deadline > now()';

export async function readNow(q: Queries): Promise<number> {
  const [row] = await q.rows<{ at: number }>(`SELECT ${ms('now()')} AS at`);
  return row!.at;
}

/** Rows of all machines, or of those named. Three queries, whatever their number. */
export async function readMachines(q: Queries, ids: readonly string[] | null) {
  const values = ids ? [ids] : [];
  const machines = await q.rows<FlatRow>(`${MACHINES} ${named(ids, 'm')}`, values);
  const work = await q.rows<WorkRow>(`${WORK} ${ids ? 'AND w.machine_id = ANY($1)' : ''}`, values);
  const backoffs = await q.rows<FlatBackoff>(`${BACKOFFS} ${named(ids, 'b')}`, values);
  const workOf = Map.groupBy(work, (row) => row.machine_id);
  const backoffsOf = Map.groupBy(backoffs, (row) => row.machine_id);
  return machines.map((row) =>
    toMachine(row, workOf.get(row.machine_id) ?? [], backoffsOf.get(row.machine_id) ?? []),
  );
}

const named = (ids: readonly string[] | null, alias: string) =>
  ids ? `WHERE ${alias}.machine_id = ANY($1)` : '';

// Every joined table has at most one row per machine, so nothing is multiplied.
const MACHINES = `
  SELECT m.machine_id, ${ms('m.machine_created_at')} AS created_at,
    p.provider, p.provider_id, p.provider_reservation_id, p.provider_ip_address,
    p.provider_location, p.provider_status,
    ${ms('a.agent_started_at')} AS started_at, encode(a.agent_public_key, 'hex') AS public_key,
    a.boot_id AS started_boot_id,
    ${ms('h.agent_heartbeat_at')} AS heartbeat_at, h.boot_id AS heartbeat_boot_id,
    r.generation AS request_generation, ${ms('r.handed_out_at')} AS handed_out_at,
    o.generation AS report_generation, o.os_installation_result AS report_result,
    ${ms('t.attempted_at')} AS attempted_at, t.count AS attempt_count,
    l.rung, l.attempts, ${ms('l.asked_at')} AS asked_at, l.operation_ref,
    ${ms('l.next_at')} AS next_at,
    e.machine_id IS NOT NULL AS permit,
    q.kind AS quarantine_kind, q.reason AS quarantine_reason, ${ms('q.until')} AS quarantine_until,
    ${ms('d.requested_at')} AS deprovision_at, k.key AS host_key
  FROM machines m
    LEFT JOIN machine_provided p USING (machine_id)
    LEFT JOIN machine_agent_started a USING (machine_id)
    LEFT JOIN machine_agent_heartbeat h USING (machine_id)
    LEFT JOIN machine_os_installation_request r USING (machine_id)
    LEFT JOIN machine_os_installation_report o USING (machine_id)
    LEFT JOIN machine_agent_start_attempt t USING (machine_id)
    LEFT JOIN machine_recovery l USING (machine_id)
    LEFT JOIN recovery_permits e USING (machine_id)
    LEFT JOIN machine_quarantined q USING (machine_id)
    LEFT JOIN machine_deprovision_request d USING (machine_id)
    LEFT JOIN machine_ssh_host_key k USING (machine_id)`;
const WORK = `
  SELECT w.machine_id, w.process, w.session_id, w.epoch, ${ms('w.work_started_at')} AS started_at
  FROM work w JOIN sessions s USING (session_id) WHERE ${LIVE}`;
const BACKOFFS = `
  SELECT b.machine_id, b.process, ${ms('b.until')} AS until, b.cause, b.last_interval_seconds
  FROM work_backoff b`;

interface FlatRow {
  machine_id: string;
  created_at: number;
  provider: string | null;
  provider_id: string;
  provider_reservation_id: string | null;
  provider_ip_address: string | null;
  provider_location: string | null;
  provider_status: ProviderStatus | null;
  started_at: number | null;
  public_key: string;
  started_boot_id: string | null;
  heartbeat_at: number | null;
  heartbeat_boot_id: string | null;
  request_generation: string | null;
  handed_out_at: number | null;
  report_generation: string | null;
  report_result: 'Success' | 'Error' | null;
  attempted_at: number | null;
  attempt_count: string;
  rung: Rung | null;
  attempts: string;
  asked_at: number | null;
  operation_ref: string | null;
  next_at: number | null;
  permit: boolean;
  quarantine_kind: QuarantineKind | null;
  quarantine_reason: string;
  quarantine_until: number | null;
  deprovision_at: number | null;
  host_key: string | null;
}
interface WorkRow {
  machine_id: string;
  process: Process;
  session_id: string;
  epoch: string;
  started_at: number;
}
interface FlatBackoff {
  machine_id: string;
  process: Process;
  until: number;
  cause: string;
  last_interval_seconds: string | null;
}

function toMachine(row: FlatRow, work: WorkRow[], backoffs: FlatBackoff[]): MachineRow {
  return {
    machineId: machineId(row.machine_id),
    createdAtMs: row.created_at,
    provided: toProvided(row),
    ...toAgent(row),
    ...toLadder(row),
    permit: row.permit,
    quarantine: row.quarantine_kind && {
      kind: row.quarantine_kind,
      reason: row.quarantine_reason,
      untilMs: row.quarantine_until,
    },
    deprovisionRequestedAtMs: row.deprovision_at,
    hostKey: row.host_key,
    work: work.map(toWork),
    backoffs: backoffs.map(toBackoff),
  };
}

const toProvided = (row: FlatRow): Provided | null =>
  row.provider === null
    ? null
    : {
        provider: providerName(row.provider),
        providerId: row.provider_id,
        reservationId: row.provider_reservation_id,
        address: row.provider_ip_address,
        location: row.provider_location,
        status: row.provider_status,
      };

const toAgent = (
  row: FlatRow,
): Pick<MachineRow, 'agentStarted' | 'heartbeat' | 'installation'> => ({
  agentStarted:
    row.started_at === null
      ? null
      : { atMs: row.started_at, publicKey: row.public_key, bootId: row.started_boot_id },
  heartbeat:
    row.heartbeat_at === null ? null : { atMs: row.heartbeat_at, bootId: row.heartbeat_boot_id },
  installation: {
    requestGeneration: toBigInt(row.request_generation),
    handedOutAtMs: row.handed_out_at,
    reportGeneration: toBigInt(row.report_generation),
    reportResult: row.report_result,
  },
});

const toLadder = (row: FlatRow): Pick<MachineRow, 'startAttempt' | 'recovery'> => ({
  startAttempt:
    row.attempted_at === null ? null : { atMs: row.attempted_at, count: Number(row.attempt_count) },
  recovery: row.rung && {
    rung: row.rung,
    attempts: Number(row.attempts),
    askedAtMs: row.asked_at,
    operationRef: row.operation_ref,
    nextAtMs: row.next_at,
  },
});

const toBigInt = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

const toWork = (row: WorkRow): LiveWork => ({
  process: row.process,
  sessionId: sessionId(row.session_id),
  epoch: row.epoch,
  startedAtMs: row.started_at,
});

const toBackoff = (row: FlatBackoff): BackoffRow => ({
  process: row.process,
  untilMs: row.until,
  cause: row.cause,
  lastIntervalSeconds:
    row.last_interval_seconds === null ? null : Number(row.last_interval_seconds),
});

/** Columns of an intent, for SELECT and RETURNING; the table must be called `i`. */
export const INTENT = `i.witness, i.machine_id, i.provider, i.slot_id, i.hostname, i.state,
  i.ambiguous, i.attempts, i.session_id, ${ms('i.created_at')} AS created_at, i.last_error,
  EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = i.session_id AND ${LIVE}) AS alive`;

export interface FlatIntent {
  witness: string;
  machine_id: string;
  provider: string;
  slot_id: string;
  hostname: string;
  state: 'open' | 'unresolved';
  ambiguous: boolean;
  attempts: string;
  session_id: string;
  created_at: number;
  last_error: string | null;
  alive: boolean;
}

export const toIntent = (row: FlatIntent): IntentRow => ({
  witness: witness(row.witness),
  machineId: machineId(row.machine_id),
  provider: providerName(row.provider),
  slotId: row.slot_id,
  hostname: row.hostname,
  state: row.state,
  ambiguous: row.ambiguous,
  attempts: Number(row.attempts),
  sessionId: sessionId(row.session_id),
  sessionAlive: row.alive,
  createdAtMs: row.created_at,
  lastError: row.last_error,
});

/** Everything the mirror needs; the caller provides one snapshot. */
export async function readSnapshot(q: Queries): Promise<BmdbSnapshot> {
  const nowMs = await readNow(q);
  const machines = await readMachines(q, null);
  const intents = await q.rows<FlatIntent>(
    `SELECT ${INTENT} FROM provision_intents i WHERE i.state IN ('open', 'unresolved')`,
  );
  const sessions = await q.rows<{ session_id: string; component: string }>(
    `SELECT s.session_id, s.session_component_name AS component FROM sessions s WHERE ${LIVE}`,
  );
  return {
    nowMs,
    machines,
    intents: intents.map(toIntent),
    holds: await readHolds(q),
    penalties: await readPenalties(q),
    sessions: sessions.map((row) => ({
      sessionId: sessionId(row.session_id),
      component: row.component,
    })),
  };
}

async function readHolds(q: Queries): Promise<HoldRow[]> {
  const rows = await q.rows<{
    provider: string;
    slot_id: string;
    kind: HoldKind;
    set_by: string;
    reason: string;
    until: number | null;
  }>(
    `SELECT provider, slot_id, kind, set_by, reason, ${ms('until')} AS until
     FROM slot_holds WHERE until IS NULL OR until > now()`,
  );
  return rows.map((row) => ({
    provider: providerName(row.provider),
    slotId: row.slot_id,
    kind: row.kind,
    setBy: row.set_by,
    reason: row.reason,
    untilMs: row.until,
  }));
}

async function readPenalties(q: Queries): Promise<PenaltyRow[]> {
  const rows = await q.rows<{ provider: string; key: string; until: number; cause: string }>(
    `SELECT provider, key, ${ms('until')} AS until, cause
     FROM provider_holds WHERE kind = 'penalty' AND until > now()`,
  );
  return rows.map((row) => ({
    provider: providerName(row.provider),
    slotId: row.key,
    untilMs: row.until,
    cause: row.cause,
  }));
}
