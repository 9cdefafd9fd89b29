import type { HeartbeatRecord } from '../../../../domain/heartbeat.ts';
import type { Beats } from './heartbeat-store.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

/** Locks rows until the transaction ends, and returns the machines whose rows others hold. */
const lock = <const Table extends string>(name: string, table: Table, which = 'true') =>
  statement({
    name: `reports-lock-${name}`,
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) => `
      WITH ours AS MATERIALIZED (
        SELECT machine_id FROM ${table} WHERE machine_id = ANY (${machines}) AND ${which}
        ORDER BY machine_id FOR NO KEY UPDATE SKIP LOCKED
      )
      SELECT machine_id FROM ${table} WHERE machine_id = ANY (${machines}) AND ${which}
        AND machine_id NOT IN (SELECT machine_id FROM ours)`,
  });

const REQUEST = 'machine_os_installation_request';

export const statements = {
  hardware: lock('hardware', 'machine_hardware_report'),
  requests: lock('requests', REQUEST),
  /** A request that was already handed out is only read. */
  newRequests: lock('new-requests', REQUEST, 'handed_out_at IS NULL'),
  acceptances: lock('acceptances', 'machine_acceptances', "state = 'due'"),
  installations: lock('installations', 'machine_os_installation_report'),
};

/**
 * Locks the rows to which these heartbeats' reports, and the answers with requests, are written.
 * Waits for nobody.
 * @returns machines with a locked row: nothing may be written for them.
 */
export async function lockReports(q: Queries, beats: Beats): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const take = async (
    locking: (typeof statements)[keyof typeof statements],
    isMeant: (record: HeartbeatRecord, pending: boolean) => boolean,
  ) => {
    const meant = [...beats].filter(([record, { pending }]) => isMeant(record, pending));
    const machines = meant.map(([{ machineId }]) => machineId).filter((id) => !held.has(id));
    if (machines.length === 0) return;
    for (const row of await q.rows(locking, { machines })) held.add(row.machine_id);
  };
  const reportsInstallation = (record: HeartbeatRecord) => record.installationReport !== undefined;
  await take(statements.hardware, (record) => (record.hardwareReport?.length ?? 0) > 0);
  await take(statements.requests, reportsInstallation);
  await take(statements.newRequests, (_, pending) => pending);
  await take(
    statements.acceptances,
    ({ acceptance }, pending) => pending || acceptance !== undefined,
  );
  await take(statements.installations, reportsInstallation);
  return held;
}
