import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatStore,
} from '../../../domain/heartbeat.ts';
import { LADDER_RESET_MS, PERMIT_RETURNED_AFTER } from '../../../domain/policy.ts';
import type { LossPolicy } from '../../../domain/policy.ts';
import type { PgContext } from './live.ts';
import type { Queries } from './pool.ts';
import { ms } from './rows.ts';

/** See `HeartbeatStore`. READ COMMITTED: the locked row of AgentStarted gives all that is needed. */
export const createHeartbeats = ({ db, loss }: PgContext): HeartbeatStore => ({
  recordHeartbeats: async (batch) => {
    if (batch.length === 0) return [];
    const doing = `record ${batch.length} heartbeats`;
    return db.transact({ doing, isolation: 'READ COMMITTED' }, async (q) => {
      const outcomes = new Map<HeartbeatRecord, HeartbeatOutcome>();
      for (const round of roundsOf(batch)) {
        for (const [record, outcome] of await recordRound(q, round, loss)) {
          outcomes.set(record, outcome);
        }
      }
      return batch.map((record) => outcomes.get(record)!);
    });
  },
});

/** A statement may touch a machine once only, so its second record waits for another round. */
function roundsOf(batch: readonly HeartbeatRecord[]): HeartbeatRecord[][] {
  const rounds: Map<string, HeartbeatRecord>[] = [];
  for (const record of new Set(batch)) {
    const free = rounds.find((round) => !round.has(record.machineId));
    if (free) free.set(record.machineId, record);
    else rounds.push(new Map([[record.machineId, record]]));
  }
  return rounds.map((round) => [...round.values()]);
}

async function recordRound(
  q: Queries,
  round: readonly HeartbeatRecord[],
  loss: LossPolicy,
): Promise<Map<HeartbeatRecord, HeartbeatOutcome>> {
  const known = await authenticate(q, round);
  const heard = round.filter((record) => known.has(record.machineId));
  const beats = await writeBeats(q, heard, loss);
  await writeHardware(q, heard);
  const installed = await writeInstallations(q, heard, known);
  const requests = await readRequests(q, heard, installed, known);
  const outcomes = new Map<HeartbeatRecord, HeartbeatOutcome>();
  for (const record of round) {
    const atMs = beats.get(record.machineId);
    const install = known.get(record.machineId);
    outcomes.set(record, outcomeOf(record, atMs, install, requests));
  }
  return outcomes;
}

function outcomeOf(
  { machineId, installationReport }: HeartbeatRecord,
  atMs: number | undefined,
  install: Install | undefined,
  requests: ReadonlyMap<string, Buffer>,
): HeartbeatOutcome {
  if (atMs === undefined || install === undefined) return { kind: 'unauthenticated' };
  if (installationReport && isAhead(installationReport.generation, install)) {
    const message = `installation report of generation ${installationReport.generation}, but only ${install.request} was asked for`;
    return { kind: 'invalid', message };
  }
  return { kind: 'accepted', atMs, installationRequest: requests.get(machineId) ?? null };
}

/** Generations of a machine's installation as they were before the batch. */
interface Install {
  readonly request: bigint | null;
  readonly handedOut: boolean;
  readonly report: bigint | null;
}
const isAhead = (generation: bigint, { request }: Install): boolean =>
  request !== null && generation > request;

/** Machines whose key is the one recorded; they stay as they are until the batch is committed. */
async function authenticate(q: Queries, round: readonly HeartbeatRecord[]) {
  const rows = await q.rows<{
    machine_id: string;
    request: string | null;
    handed_out: boolean;
    report: string | null;
  }>(
    `SELECT a.machine_id, r.generation AS request, r.handed_out_at IS NOT NULL AS handed_out,
       o.generation AS report
     FROM unnest($1::uuid[], $2::bytea[]) AS b (machine_id, key)
       JOIN machine_agent_started a
         ON a.machine_id = b.machine_id AND a.agent_public_key = b.key
       LEFT JOIN machine_os_installation_request r ON r.machine_id = a.machine_id
       LEFT JOIN machine_os_installation_report o ON o.machine_id = a.machine_id
     ORDER BY a.machine_id FOR KEY SHARE OF a`,
    [round.map((record) => record.machineId), round.map((record) => Buffer.from(record.publicKey))],
  );
  const generation = (text: string | null) => (text === null ? null : BigInt(text));
  return new Map<string, Install>(
    rows.map((row) => [
      row.machine_id,
      {
        request: generation(row.request),
        handedOut: row.handed_out,
        report: generation(row.report),
      },
    ]),
  );
}

/** Database time of each heartbeat. A permit and the ladder's memory end with enough of them. */
async function writeBeats(
  q: Queries,
  heard: readonly HeartbeatRecord[],
  loss: LossPolicy,
): Promise<Map<string, number>> {
  const rows = await q.rows<{ machine_id: string; at: number; count: string; steady: boolean }>(
    `INSERT INTO machine_agent_heartbeat AS h (machine_id, agent_heartbeat_at, boot_id)
     SELECT b.machine_id, greatest(now(), a.agent_started_at), b.boot_id
     FROM unnest($1::uuid[], $2::text[]) AS b (machine_id, boot_id)
       JOIN machine_agent_started a USING (machine_id)
     ORDER BY b.machine_id
     ON CONFLICT (machine_id) DO UPDATE SET
       agent_heartbeat_at = greatest(h.agent_heartbeat_at, excluded.agent_heartbeat_at),
       boot_id = coalesce(excluded.boot_id, h.boot_id),
       unbroken_since = CASE WHEN ${UNBROKEN} THEN h.unbroken_since ELSE now() END,
       unbroken_count = CASE WHEN ${UNBROKEN} THEN h.unbroken_count + 1 ELSE 1 END
     RETURNING machine_id, ${ms('agent_heartbeat_at')} AS at, unbroken_count AS count,
       now() >= unbroken_since + $4::float8 * interval '1 millisecond' AS steady`,
    [
      heard.map((record) => record.machineId),
      heard.map((record) => record.bootId),
      2 * loss.periodMs,
      loss.ladderResetMs ?? LADDER_RESET_MS,
    ],
  );
  await returnPermits(
    q,
    rows.filter((row) => Number(row.count) >= PERMIT_RETURNED_AFTER).map((row) => row.machine_id),
  );
  await forgetLadder(
    q,
    rows.filter((row) => row.steady).map((row) => row.machine_id),
  );
  return new Map(rows.map((row) => [row.machine_id, row.at]));
}
const UNBROKEN = `h.agent_heartbeat_at + $3::float8 * interval '1 millisecond' >= now()`;

// Not while somebody works on it: then the end of that work decides.
const IDLE = `NOT EXISTS (SELECT 1 FROM work w WHERE w.machine_id = x.machine_id)`;

async function returnPermits(q: Queries, machineIds: readonly string[]): Promise<void> {
  if (machineIds.length === 0) return;
  await q.run(`DELETE FROM recovery_permits x WHERE x.machine_id = ANY($1) AND ${IDLE}`, [
    machineIds,
  ]);
}

async function forgetLadder(q: Queries, machineIds: readonly string[]): Promise<void> {
  if (machineIds.length === 0) return;
  await q.run(`DELETE FROM machine_recovery x WHERE x.machine_id = ANY($1) AND ${IDLE}`, [
    machineIds,
  ]);
}

async function writeHardware(q: Queries, heard: readonly HeartbeatRecord[]): Promise<void> {
  const reports = heard.flatMap(({ machineId, hardwareReport }) =>
    hardwareReport && hardwareReport.length > 0 ? [{ machineId, hardwareReport }] : [],
  );
  if (reports.length === 0) return;
  await q.run(
    `INSERT INTO machine_hardware_report AS h (machine_id, hardware_report_raw)
     SELECT machine_id, raw FROM unnest($1::uuid[], $2::bytea[]) AS b (machine_id, raw)
     ORDER BY machine_id
     ON CONFLICT (machine_id) DO UPDATE SET hardware_report_raw = excluded.hardware_report_raw
     WHERE h.hardware_report_raw <> excluded.hardware_report_raw`,
    [
      reports.map((report) => report.machineId),
      reports.map((report) => Buffer.from(report.hardwareReport)),
    ],
  );
}

/**
 * Stores reports of exactly the generation asked for. A late one says nothing any more, and an
 * error after a success was not about the result.
 * @returns the machines whose request is answered now.
 */
async function writeInstallations(
  q: Queries,
  heard: readonly HeartbeatRecord[],
  known: ReadonlyMap<string, Install>,
): Promise<Set<string>> {
  const reports = heard.flatMap(({ machineId, installationReport: report }) =>
    report && report.generation === known.get(machineId)?.request ? [{ machineId, report }] : [],
  );
  if (reports.length === 0) return new Set();
  await q.run(
    `INSERT INTO machine_os_installation_report AS o
       (machine_id, generation, os_installation_result, os_installation_report_raw)
     SELECT machine_id, generation, result::machine_os_installation_result, raw
     FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bytea[])
       AS b (machine_id, generation, result, raw)
     ORDER BY machine_id
     ON CONFLICT (machine_id) DO UPDATE SET generation = excluded.generation,
       os_installation_result = excluded.os_installation_result,
       os_installation_report_raw = excluded.os_installation_report_raw
     WHERE o.generation <> excluded.generation OR o.os_installation_result <> 'Success'`,
    [
      reports.map(({ machineId }) => machineId),
      reports.map(({ report }) => String(report.generation)),
      reports.map(({ report }) => report.result),
      reports.map(({ report }) => Buffer.from(report.raw)),
    ],
  );
  return new Set(reports.map(({ machineId }) => machineId));
}

/** Requests that are pending, marked as handed out the first time. */
async function readRequests(
  q: Queries,
  heard: readonly HeartbeatRecord[],
  installed: ReadonlySet<string>,
  known: ReadonlyMap<string, Install>,
): Promise<Map<string, Buffer>> {
  const pending = heard
    .map((record) => record.machineId)
    .filter((id) => {
      const { request, report } = known.get(id)!;
      return request !== null && request !== report && !installed.has(id);
    });
  if (pending.length === 0) return new Map();
  const fresh = pending.filter((id) => !known.get(id)!.handedOut);
  if (fresh.length > 0) {
    await q.run(
      `UPDATE machine_os_installation_request SET handed_out_at = now()
       WHERE machine_id = ANY($1) AND handed_out_at IS NULL`,
      [fresh],
    );
  }
  const rows = await q.rows<{ machine_id: string; raw: Buffer }>(
    `SELECT machine_id, os_installation_request_raw AS raw
     FROM machine_os_installation_request WHERE machine_id = ANY($1)`,
    [pending],
  );
  return new Map(rows.map((row) => [row.machine_id, row.raw]));
}
