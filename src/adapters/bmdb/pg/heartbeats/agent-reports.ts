import { AGENT_SOURCE, type ReportedCondition } from '../../../../domain/conditions.ts';
import type { HeartbeatRecord } from '../../../../domain/heartbeat.ts';
import { machineId } from '../../../../domain/ids.ts';
import { FLEET } from '../../../../domain/recovery/guard-judgement.ts';
import type { Beats } from './heartbeat-store.ts';
import type { Queries } from '../pool.ts';
import { writeConditions } from '../conditions/repository.ts';
import { HARDWARE_COMPLETE, missingHardware } from '../../missing-hardware.ts';
import { answeredRequest } from '../../install-image.ts';
import { installationHandedOut, installationReported } from '../../installation-events.ts';
import type { HeartbeatEvent } from '../../installation-events.ts';
import { handOutRefusalSql, SLOT_ID } from '../eligibility.ts';
import { named, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

export const statements = named('installation-requests', {
  writeHardware: statement({
    name: 'hardware-write',
    params: { reports: { machineId: 'uuid', raw: 'bytea' } },
    columns: { machine_id: 'uuid', complete: 'bool', before: 'bytea?' },
    text: ({ reports }) =>
      `INSERT INTO machine_hardware_report AS h (machine_id, hardware_report_raw)
       SELECT machine_id, raw FROM ${reports} ORDER BY machine_id
       ON CONFLICT (machine_id) DO UPDATE SET hardware_report_raw = excluded.hardware_report_raw
       WHERE h.hardware_report_raw <> excluded.hardware_report_raw
       RETURNING h.machine_id, h.complete_report_raw IS NULL AS complete,
         (SELECT coalesce(o.complete_report_raw, o.hardware_report_raw)
          FROM machine_hardware_report o WHERE o.machine_id = h.machine_id) AS before`,
  }),
  keepComplete: statement({
    name: 'hardware-keep-complete',
    params: { reports: { machineId: 'uuid', raw: 'bytea?' } },
    text: ({ reports }) =>
      `UPDATE machine_hardware_report h SET complete_report_raw = reports.raw
       FROM ${reports} WHERE h.machine_id = reports.machine_id`,
  }),
  slots: statement({
    name: 'agent-conditions-slots',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', provider: 'provider', slot_id: 'text' },
    text: ({ machines }) =>
      `SELECT p.machine_id, p.provider, ${SLOT_ID} AS slot_id FROM machine_provided p
       WHERE p.machine_id = ANY (${machines})`,
  }),
  /** Reads and locks installation requests, with the reports. */
  lockRequests: statement({
    name: 'installation-requests-lock',
    params: { machines: 'uuid[]' },
    columns: {
      machine_id: 'uuid',
      generation: 'int8',
      raw: 'bytea',
      reported: 'int8?',
      result: 'machine_os_installation_result?',
    },
    text: ({ machines }) =>
      `SELECT r.machine_id, r.generation, r.os_installation_request_raw AS raw,
         o.generation AS reported,
         o.os_installation_result AS result
       FROM machine_os_installation_request r
         LEFT JOIN machine_os_installation_report o ON o.machine_id = r.machine_id
       WHERE r.machine_id = ANY (${machines}) ORDER BY r.machine_id
       FOR NO KEY UPDATE OF r`,
  }),
  /** An error reported after a success does not concern the result. */
  writeInstallations: statement({
    name: 'installations-write',
    params: {
      reports: {
        ...{ machineId: 'uuid', generation: 'int8', raw: 'bytea' },
        result: 'machine_os_installation_result',
      },
    },
    text: ({ reports }) =>
      `INSERT INTO machine_os_installation_report AS o
         (machine_id, generation, os_installation_result, os_installation_report_raw)
       SELECT machine_id, generation, result, raw FROM ${reports} ORDER BY machine_id
       ON CONFLICT (machine_id) DO UPDATE SET generation = excluded.generation,
         os_installation_result = excluded.os_installation_result,
         os_installation_report_raw = excluded.os_installation_report_raw
       WHERE o.generation <> excluded.generation OR o.os_installation_result <> 'Success'`,
  }),
  /** The requests must be locked. */
  keepAnswered: statement({
    name: 'installation-requests-answered',
    params: { answered: { machineId: 'uuid', raw: 'bytea' } },
    text: ({ answered }) =>
      `UPDATE machine_os_installation_request r SET os_installation_request_raw = answered.raw
       FROM ${answered}
       WHERE r.machine_id = answered.machine_id AND r.os_installation_request_raw <> answered.raw`,
  }),
  /** A transaction that forbids the hand-out waits for this lock, or has already committed. */
  lockNew: statement({
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `SELECT FROM machine_os_installation_request
       WHERE machine_id = ANY (${machines}) AND handed_out_at IS NULL
       ORDER BY machine_id FOR NO KEY UPDATE`,
  }),
  readRequests: statement({
    name: 'installation-requests-read',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', generation: 'int8', raw: 'bytea', handed_out: 'bool' },
    text: ({ machines }) =>
      `SELECT r.machine_id, r.generation, r.os_installation_request_raw AS raw,
         r.handed_out_at IS NOT NULL AS handed_out
       FROM machine_os_installation_request r
         LEFT JOIN machine_provided p ON p.machine_id = r.machine_id
         LEFT JOIN machine_quarantined q ON q.machine_id = r.machine_id
         LEFT JOIN machine_deprovision_request d ON d.machine_id = r.machine_id
       WHERE r.machine_id = ANY (${machines}) AND r.generation IS DISTINCT FROM (
         SELECT o.generation FROM machine_os_installation_report o
         WHERE o.machine_id = r.machine_id)
         AND (${handOutRefusalSql()}) IS NULL`,
  }),
  /** Returns the requests as marked, which may be newer than those read before. */
  handOut: statement({
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', generation: 'int8', raw: 'bytea' },
    text: ({ machines }) =>
      `UPDATE machine_os_installation_request SET handed_out_at = now()
       WHERE machine_id = ANY (${machines}) AND handed_out_at IS NULL
       RETURNING machine_id, generation, os_installation_request_raw AS raw`,
  }),
  /**
   * Machines whose system is installed, unless a freeze or a refusal to hand out forbids the
   * reboot.
   */
  mayReboot: statement({
    name: 'installations-may-reboot',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `SELECT r.machine_id
       FROM machine_os_installation_request r
         JOIN machine_os_installation_report o USING (machine_id, generation)
         JOIN machine_provided p USING (machine_id)
         LEFT JOIN machine_quarantined q USING (machine_id)
         LEFT JOIN machine_deprovision_request d USING (machine_id)
       WHERE r.machine_id = ANY (${machines}) AND o.os_installation_result = 'Success'
         AND (${handOutRefusalSql()}) IS NULL
         AND NOT EXISTS (SELECT 1 FROM fleet_guard g
           WHERE g.frozen_at IS NOT NULL AND g.scope IN ('${FLEET}', p.provider))`,
  }),
  /** Writes lines into the logs of slots. */
  writeEvents: statement({
    name: 'installation-events-write',
    params: { lines: { machineId: 'uuid', kind: 'text', actor: 'text', reason: 'text' } },
    text: ({ lines }) =>
      `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason)
       SELECT p.provider, ${SLOT_ID}, p.machine_id, lines.kind, lines.actor, lines.reason
       FROM ${lines} JOIN machine_provided p ON p.machine_id = lines.machine_id ORDER BY lines.nth`,
  }),
});

interface RawReport {
  readonly machineId: string;
  readonly raw: Uint8Array;
}
/** Maximum size of one statement; a batch of the largest reports would exceed a sensible limit. */
const CHUNK_BYTES = 4 * 1024 * 1024;

function chunksOf<InstallationReport extends RawReport>(
  reports: readonly InstallationReport[],
): InstallationReport[][] {
  const chunks: InstallationReport[][] = [];
  let room = 0;
  for (const report of reports) {
    if (report.raw.length > room) {
      chunks.push([]);
      room = CHUNK_BYTES;
    }
    chunks.at(-1)!.push(report);
    room -= report.raw.length;
  }
  return chunks;
}

/** What is wrong with machines, by machine. */
export type Conditions = ReadonlyMap<string, readonly ReportedCondition[]>;

/**
 * Stores the hardware reports of agents whose heartbeat was accepted. While parts are missing or
 * unreadable, keeps the last report with all of them.
 * @returns which machines miss parts, or no longer do.
 */
export async function writeHardware(q: Queries, beats: Beats): Promise<Conditions> {
  const reports: RawReport[] = [];
  for (const { machineId, hardwareReport: raw } of beats.keys()) {
    if (raw && raw.length > 0) reports.push({ machineId, raw });
  }
  const found = new Map<string, readonly ReportedCondition[]>();
  for (const chunk of chunksOf(reports)) {
    const sent = new Map(chunk.map(({ machineId, raw }) => [machineId, raw]));
    const kept: { machineId: string; raw: Uint8Array | null }[] = [];
    for (const row of await q.rows(statements.writeHardware, { reports: chunk })) {
      const { machine_id: id, before, complete } = row;
      const missing = before && missingHardware(before, sent.get(id)!);
      if (!missing && complete) continue;
      if (missing !== 'unreadable') found.set(id, [missing ?? HARDWARE_COMPLETE]);
      if (!missing || complete) kept.push({ machineId: id, raw: missing ? before : null });
    }
    if (kept.length > 0) await q.run(statements.keepComplete, { reports: kept });
  }
  return found;
}

/** Stores what agents say is wrong with their machines, and which parts are missing. */
export async function writeAgentConditions(
  q: Queries,
  beats: Beats,
  hardware: Conditions,
): Promise<void> {
  const told = new Map(hardware);
  for (const { machineId, conditions = [] } of beats.keys()) {
    // Which parts are missing is for us to say.
    const own = conditions.filter(({ type }) => type !== 'hardware-missing');
    if (own.length > 0) told.set(machineId, [...(told.get(machineId) ?? []), ...own]);
  }
  if (told.size === 0) return;
  const slots = await q.rows(statements.slots, { machines: [...told.keys()] });
  const common = { source: AGENT_SOURCE, validForMs: null };
  await writeConditions(
    q,
    slots.flatMap(({ machine_id: id, provider, slot_id: slotId }) =>
      told
        .get(id)!
        .map((each) => ({ provider, slotId, machineId: machineId(id), ...each, ...common })),
    ),
  );
}

/** Result of storing installation reports. */
export interface Installations {
  /** Faults of reports for a generation that was never requested. */
  readonly faults: ReadonlyMap<HeartbeatRecord, string>;
  /** Results of installations that were not known before. */
  readonly ended: readonly InstallationReport['result'][];
}

/** Stores reports for exactly the requested generation; reports for earlier ones are obsolete. */
export async function writeInstallations(q: Queries, beats: Beats): Promise<Installations> {
  const faults = new Map<HeartbeatRecord, string>();
  const ended: InstallationReport['result'][] = [];
  const reported = [...beats.keys()].filter((record) => record.installationReport !== undefined);
  if (reported.length === 0) return { faults, ended };
  const machines = reported.map((record) => record.machineId);
  const rows = await q.rows(statements.lockRequests, { machines });
  const asked = new Map(rows.map((row) => [row.machine_id, row]));
  const answers: ReportAnswer[] = [];
  const news: Line[] = [];
  for (const record of reported) {
    const { machineId, installationReport: report } = record;
    const before = asked.get(machineId);
    if (before === undefined || report!.generation < BigInt(before.generation)) continue;
    if (report!.generation > BigInt(before.generation)) {
      faults.set(record, aheadText(report!.generation, before.generation));
      continue;
    }
    answers.push({ machineId, ...report! });
    if (!isNews(before, report!)) continue;
    news.push({ machineId, ...installationReported(report!) });
    ended.push(report!.result);
  }
  for (const chunk of chunksOf(answers)) {
    await q.run(statements.writeInstallations, { reports: chunk });
  }
  if (answers.length > 0) {
    await q.run(statements.keepAnswered, {
      answered: answers.map(({ machineId }) => ({
        machineId,
        raw: answeredRequest(asked.get(machineId)!.raw),
      })),
    });
  }
  await writeEvents(q, news);
  return { faults, ended };
}

/** False for a repeated report of a generation, and for an error after its success. */
const isNews = (
  before: RowOf<(typeof statements.lockRequests)['columns']>,
  { generation, result }: InstallationReport,
): boolean =>
  before.reported === null ||
  BigInt(before.reported) !== generation ||
  (before.result !== result && before.result !== 'Success');

type InstallationReport = NonNullable<HeartbeatRecord['installationReport']>;
type ReportAnswer = RawReport & InstallationReport;

const aheadText = (reported: bigint, asked: string) =>
  `installation report for generation ${reported}, but only ${asked} was requested`;

type Line = Omit<HeartbeatEvent, 'kind'> & { readonly kind: string } & {
  readonly machineId: string;
};

/** Writes lines about heartbeats into the logs of slots. */
export async function writeEvents(q: Queries, lines: readonly Line[]): Promise<void> {
  if (lines.length > 0) await q.run(statements.writeEvents, { lines });
}

/** Machines whose installed image was just reported and that may be rebooted into it. */
export async function mayReboot(
  q: Queries,
  beats: Beats,
  faults: ReadonlyMap<HeartbeatRecord, string>,
): Promise<ReadonlySet<string>> {
  const machines = [...beats.keys()]
    .filter((record) => record.installationReport?.result === 'Success' && !faults.has(record))
    .map(({ machineId }) => machineId);
  if (machines.length === 0) return new Set();
  const rows = await q.rows(statements.mayReboot, { machines });
  return new Set(rows.map((row) => row.machine_id));
}

/** A request, and the generation in its row. */
export interface HandedOut {
  readonly installationRequest: Uint8Array;
  readonly requestGeneration: bigint;
}

/**
 * Returns the installation request of each machine, unless the hand-out is forbidden now (see
 * `handOutRefusal`). The first hand-out is marked and logged for the slot. Agents with a faulty
 * report get only its fault.
 */
export async function handOutRequests(
  q: Queries,
  beats: Beats,
  faults: ReadonlyMap<HeartbeatRecord, string>,
): Promise<Map<string, HandedOut>> {
  const machines: string[] = [];
  for (const [record, { pending }] of beats) {
    if (pending && !faults.has(record)) machines.push(record.machineId);
  }
  if (machines.length === 0) return new Map();
  await q.rows(statements.lockNew, { machines });
  const rows = await q.rows(statements.readRequests, { machines });
  const fresh = rows.filter((row) => !row.handed_out).map((row) => row.machine_id);
  const marked = fresh.length > 0 ? await q.rows(statements.handOut, { machines: fresh }) : [];
  const old = rows.filter((row) => row.handed_out);
  const lines = marked.map(({ machine_id: machineId, generation }) => ({
    machineId,
    ...installationHandedOut(BigInt(generation)),
  }));
  await writeEvents(q, lines);
  return new Map(
    [...old, ...marked].map(({ machine_id, generation, raw }) => [
      machine_id,
      { installationRequest: raw, requestGeneration: BigInt(generation) },
    ]),
  );
}
