import type { HeartbeatRecord } from '../../../domain/heartbeat.ts';
import type { Beats } from './beats.ts';
import type { Queries } from './pool.ts';
import { statement } from './statement.ts';

export const statements = {
  writeHardware: statement({
    name: 'hardware-write',
    params: { machines: 'uuid[]', reports: 'bytea[]' },
    columns: {},
    text: ({ machines, reports }) =>
      `INSERT INTO machine_hardware_report AS h (machine_id, hardware_report_raw)
       SELECT b.machine_id, b.raw FROM unnest(${machines}, ${reports}) AS b (machine_id, raw)
       ORDER BY b.machine_id
       ON CONFLICT (machine_id) DO UPDATE SET hardware_report_raw = excluded.hardware_report_raw
       WHERE h.hardware_report_raw <> excluded.hardware_report_raw`,
  }),
  /** What is asked for, which stays so until the end of the transaction. */
  lockRequests: statement({
    name: 'installation-requests-lock',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', generation: 'int8' },
    text: ({ machines }) =>
      `SELECT machine_id, generation FROM machine_os_installation_request
       WHERE machine_id = ANY (${machines}) ORDER BY machine_id FOR SHARE`,
  }),
  /** An error after a success was not about the result. */
  writeInstallations: statement({
    name: 'installations-write',
    params: {
      ...{ machines: 'uuid[]', generations: 'int8[]' },
      ...{ results: 'machine_os_installation_result[]', reports: 'bytea[]' },
    },
    columns: {},
    text: ({ machines, generations, results, reports }) =>
      `INSERT INTO machine_os_installation_report AS o
         (machine_id, generation, os_installation_result, os_installation_report_raw)
       SELECT b.* FROM unnest(${machines}, ${generations}, ${results}, ${reports})
         AS b (machine_id, generation, result, raw)
       ORDER BY b.machine_id
       ON CONFLICT (machine_id) DO UPDATE SET generation = excluded.generation,
         os_installation_result = excluded.os_installation_result,
         os_installation_report_raw = excluded.os_installation_report_raw
       WHERE o.generation <> excluded.generation OR o.os_installation_result <> 'Success'`,
  }),
  readRequests: statement({
    name: 'installation-requests-read',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', raw: 'bytea', handed_out: 'bool' },
    text: ({ machines }) =>
      `SELECT r.machine_id, r.os_installation_request_raw AS raw,
         r.handed_out_at IS NOT NULL AS handed_out
       FROM machine_os_installation_request r
       WHERE r.machine_id = ANY (${machines}) AND r.generation IS DISTINCT FROM (
         SELECT o.generation FROM machine_os_installation_report o
         WHERE o.machine_id = r.machine_id)`,
  }),
  /** Answers with what is marked: it may be newer than what was read. */
  handOut: statement({
    name: 'installation-requests-hand-out',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', raw: 'bytea' },
    text: ({ machines }) =>
      `UPDATE machine_os_installation_request SET handed_out_at = now()
       WHERE machine_id = ANY (${machines}) AND handed_out_at IS NULL
       RETURNING machine_id, os_installation_request_raw AS raw`,
  }),
};

interface RawReport {
  readonly machineId: string;
  readonly raw: Uint8Array;
}
/** In one statement; a batch of the largest reports would be too long for one. */
const CHUNK_BYTES = 4 * 1024 * 1024;

function chunksOf<Report extends RawReport>(reports: readonly Report[]): Report[][] {
  const chunks: Report[][] = [];
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

/** Stores the hardware reports that came, of agents whose heartbeat was taken. */
export async function writeHardware(q: Queries, beats: Beats): Promise<void> {
  const reports: RawReport[] = [];
  for (const { machineId, hardwareReport: raw } of beats.keys()) {
    if (raw && raw.length > 0) reports.push({ machineId, raw });
  }
  for (const chunk of chunksOf(reports)) {
    await q.run(statements.writeHardware, {
      machines: chunk.map(({ machineId }) => machineId),
      reports: chunk.map(({ raw }) => raw),
    });
  }
}

/**
 * Stores reports of exactly the generation asked for; an earlier one says nothing any more.
 * @returns what is wrong with reports of a generation that was never asked for.
 */
export async function writeInstallations(
  q: Queries,
  beats: Beats,
): Promise<Map<HeartbeatRecord, string>> {
  const faults = new Map<HeartbeatRecord, string>();
  const reported = [...beats.keys()].filter((record) => record.installationReport !== undefined);
  if (reported.length === 0) return faults;
  const machines = reported.map((record) => record.machineId);
  const rows = await q.rows(statements.lockRequests, { machines });
  const asked = new Map(rows.map((row) => [row.machine_id, BigInt(row.generation)]));
  const answers: Answer[] = [];
  for (const record of reported) {
    const { machineId, installationReport: report } = record;
    const generation = asked.get(machineId);
    if (generation === undefined || report!.generation < generation) continue;
    if (report!.generation === generation) answers.push({ machineId, ...report! });
    else faults.set(record, aheadText(report!.generation, generation));
  }
  await writeAnswers(q, answers);
  return faults;
}

type Answer = RawReport & NonNullable<HeartbeatRecord['installationReport']>;

async function writeAnswers(q: Queries, answers: readonly Answer[]): Promise<void> {
  for (const chunk of chunksOf(answers)) {
    await q.run(statements.writeInstallations, {
      machines: chunk.map(({ machineId }) => machineId),
      generations: chunk.map(({ generation }) => generation),
      results: chunk.map(({ result }) => result),
      reports: chunk.map(({ raw }) => raw),
    });
  }
}

const aheadText = (reported: bigint, asked: bigint) =>
  `installation report of generation ${reported}, but only ${asked} was asked for`;

/**
 * What is to be installed on which machine; marked as handed out the first time. Agents that sent
 * something wrong are answered with that alone.
 */
export async function handOutRequests(
  q: Queries,
  beats: Beats,
  faults: ReadonlyMap<HeartbeatRecord, string>,
): Promise<Map<string, Uint8Array>> {
  const machines: string[] = [];
  for (const [record, { pending }] of beats) {
    if (pending && !faults.has(record)) machines.push(record.machineId);
  }
  if (machines.length === 0) return new Map();
  const rows = await q.rows(statements.readRequests, { machines });
  const fresh = rows.filter((row) => !row.handed_out).map((row) => row.machine_id);
  const marked = fresh.length > 0 ? await q.rows(statements.handOut, { machines: fresh }) : [];
  const old = rows.filter((row) => row.handed_out);
  return new Map([...old, ...marked].map((row) => [row.machine_id, row.raw]));
}
