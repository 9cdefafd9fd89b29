import { machineId } from '../../../../domain/ids.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Database } from '../pool.ts';
import { statement } from '../statement.ts';

/** Enough to ask for at once; the rest comes with the next look. */
const MACHINES_MAX = 10_000;

export const statements = {
  /** An agent sends its report with its second heartbeat, so it has time for that first. */
  hardwareGaps: statement({
    name: 'hardware-gaps',
    params: { most: 'int4' },
    columns: { machine_id: 'uuid' },
    text: ({ most }) =>
      `SELECT s.machine_id FROM machine_agent_started s
       JOIN machine_agent_heartbeat h ON h.machine_id = s.machine_id
       WHERE s.agent_started_at < now() - interval '2 minutes'
         AND h.agent_heartbeat_at > now() - interval '10 minutes'
         AND NOT EXISTS (
           SELECT FROM machine_hardware_report r WHERE r.machine_id = s.machine_id)
       ORDER BY s.machine_id LIMIT ${most}`,
  }),
};

/** See `HeartbeatStore.withoutHardware`. */
export async function readHardwareGaps(db: Database): Promise<MachineId[]> {
  const doing = 'read whose hardware report is missing';
  const rows = await db.once({ processor: 'bmsrv', doing }, statements.hardwareGaps, {
    most: MACHINES_MAX,
  });
  return rows.map((row) => machineId(row.machine_id));
}
