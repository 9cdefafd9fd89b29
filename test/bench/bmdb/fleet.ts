import { createHash } from 'node:crypto';
import type pg from 'pg';
import { machineId } from '../../../src/domain/ids.ts';
import type { MachineId } from '../../../src/domain/ids.ts';

export interface FleetSize {
  /** Machines whose agent may be started now. */
  readonly free: number;
  /** Machines with a running, reporting agent. */
  readonly started: number;
  /** Machines that wait, are quarantined, held or in recovery. */
  readonly others: number;
}

export interface Fleet {
  readonly free: readonly MachineId[];
  readonly started: readonly MachineId[];
}

/** The agent's key on a started machine. */
export const publicKeyOf = (id: MachineId): Uint8Array => createHash('sha256').update(id).digest();

/**
 * Fills a migrated database with machines and their related rows, without triggers.
 * @param sql of a role that owns everything and may disable triggers.
 */
export async function loadFleet(sql: pg.Pool, size: FleetSize): Promise<Fleet> {
  const client = await sql.connect();
  try {
    await client.query(`SET session_replication_role = replica`);
    await client.query(
      `CREATE TEMP TABLE fleet AS
       SELECT n, gen_random_uuid() AS id, n <= $1 AS free, n > $1 AND n <= $2 AS started, n > $2 AS other
       FROM generate_series(1, $3::int) n`,
      [size.free, size.free + size.started, size.free + size.started + size.others],
    );
    for (const insert of INSERTS) await client.query(insert);
    const { rows } = await client.query<{ id: string; free: boolean; started: boolean }>(
      `SELECT id, free, started FROM fleet ORDER BY random()`,
    );
    const ids = (kind: 'free' | 'started') =>
      rows.filter((row) => row[kind]).map((row) => machineId(row.id));
    return { free: ids('free'), started: ids('started') };
  } finally {
    await client.query(`RESET session_replication_role; DROP TABLE IF EXISTS fleet`);
    client.release();
    await sql.query(`VACUUM (ANALYZE)`);
  }
}

const INSERTS = [
  `INSERT INTO machines SELECT id, now() - interval '90 days' FROM fleet`,
  `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_reservation_id,
     provider_ip_address, provider_location, provider_status)
   SELECT id, 'provider-' || n % 3, 'device-' || n, 'slot-' || n,
     '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256, 'rack-' || n % 200,
     (CASE WHEN other AND n % 4 = 0 THEN 'Missing' ELSE 'Running' END)::provider_status
   FROM fleet`,
  `INSERT INTO machine_ssh_host_key SELECT id, encode(sha256(id::text::bytea), 'base64')
   FROM fleet WHERE n % 2 = 0`,
  `INSERT INTO machine_agent_started (machine_id, agent_started_at, agent_public_key, boot_id)
   SELECT id, now() - interval '1 day', sha256(id::text::bytea), gen_random_uuid()::text
   FROM fleet WHERE started`,
  `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
   SELECT machine_id, now(), boot_id FROM machine_agent_started`,
  `INSERT INTO machine_hardware_report SELECT machine_id, agent_public_key
   FROM machine_agent_started`,
  `INSERT INTO machine_os_installation_request (machine_id, generation, os_installation_request_raw)
   SELECT id, 2, '\\x01' FROM fleet WHERE free AND n % 5 < 2`,
  `INSERT INTO machine_os_installation_report
   SELECT id, 1, 'Success', '\\x01' FROM fleet WHERE free AND n % 5 < 2`,
  `INSERT INTO machine_agent_start_attempt
   SELECT id, now() - interval '1 minute', 1 FROM fleet WHERE NOT started AND n % 3 = 0`,
  `INSERT INTO work_backoff SELECT id, 'ShepherdAgentStart', now() - interval '1 minute', 'test', 300
   FROM fleet WHERE free AND n % 10 = 1`,
  `INSERT INTO work_backoff SELECT id, 'ShepherdAgentStart', now() + interval '1 day', 'test', 300
   FROM fleet WHERE other`,
  `INSERT INTO machine_recovery (machine_id, rung, attempts, asked_at, next_at)
   SELECT id, 'rebooting', 1, now() - interval '1 hour', now() - interval '1 minute'
   FROM fleet WHERE other AND n % 10 = 1`,
  `INSERT INTO machine_quarantined SELECT id, 'byOperator', 'test', NULL, 'test'
   FROM fleet WHERE other AND n % 10 = 2`,
  `INSERT INTO machine_deprovision_request SELECT id, now(), 'test', 'test'
   FROM fleet WHERE other AND n % 100 = 3`,
  `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
   SELECT 'provider-' || n % 3, 'slot-' || n, 'no-start', 'test', 'test'
   FROM fleet WHERE other`,
  `INSERT INTO recovery_permits (machine_id, provider, location)
   SELECT id, 'provider-' || n % 3, 'rack-' || n % 200 FROM fleet WHERE other AND n % 200 = 1`,
  `INSERT INTO sessions (session_component_name, session_runtime_info, session_interval_seconds,
     session_deadline)
   SELECT 'shepherd', 'host rack' || n, 5, now() + (n - 5) * interval '1 hour'
   FROM generate_series(1, 10) n`,
  `INSERT INTO work (machine_id, exclusion_group) SELECT id, 'shepherd' FROM fleet`,
  `UPDATE work SET process = 'ShepherdRecovery', work_started_at = now(),
     session_id = (SELECT session_id FROM sessions ORDER BY session_deadline DESC LIMIT 1)
   WHERE machine_id IN (SELECT machine_id FROM recovery_permits)`,
  `INSERT INTO work_history (machine_id, process, event, session_id, component, epoch, "timestamp")
   SELECT id, 'ShepherdAgentStart', event::work_history_event, s.session_id, 'shepherd', n,
     now() - interval '1 day'
   FROM fleet, unnest(ARRAY['Started', 'Failed', 'Started']) event,
     (SELECT session_id FROM sessions LIMIT 1) s`,
  `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor)
   SELECT 'provider-' || n % 3, 'slot-' || n, id, 'agentStarted', 'shepherd' FROM fleet`,
  `INSERT INTO provision_intents (witness, machine_id, provider, slot_id, hostname, state, session_id)
   SELECT gen_random_uuid(), id, 'provider-' || n % 3, 'slot-' || n, 'host-' || n,
     (CASE WHEN n % 5000 = 0 THEN 'open' ELSE 'adopted' END)::intent_state, gen_random_uuid()
   FROM fleet`,
  `INSERT INTO provider_holds (provider, kind, key, until, cause)
   SELECT 'provider-' || n % 3, 'penalty', 'spare-' || n, now() + interval '1 hour', 'test'
   FROM fleet WHERE n % 100 = 0`,
];
