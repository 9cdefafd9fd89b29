import type { MemMachine } from './tables.ts';

/** A machine's tag as PostgreSQL would have it; null: the machine has none. */
type Fields = readonly (string | null)[] | null;
interface MemTag {
  readonly table: string;
  /** Name and type of each column but `machine_id`, in order. */
  readonly columns: readonly (readonly [string, string])[];
  /** Times as epoch milliseconds, bytes as hex. */
  readonly read: (machine: MemMachine) => Fields;
}

const text = (value: number | bigint | string | null): string | null =>
  value === null ? null : String(value);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const list = (values: readonly number[]): string => `{${values.join(',')}}`;

/** The tables of the schema that hold tags, by name. */
export const TAGS: readonly MemTag[] = [
  {
    table: 'machine_agent_heartbeat',
    columns: [
      ['agent_heartbeat_at', 'timestamptz'],
      ['boot_id', 'text'],
      ['unbroken_since', 'timestamptz'],
      ['unbroken_count', 'int8'],
    ],
    read: ({ row: { heartbeat }, unbroken }) =>
      heartbeat && [
        ...[text(heartbeat.atMs), heartbeat.bootId],
        ...[text(unbroken.sinceMs), text(unbroken.count)],
      ],
  },
  {
    table: 'machine_agent_start_attempt',
    columns: [
      ['attempted_at', 'timestamptz'],
      ['count', 'int8'],
      ['unreached', 'int8'],
    ],
    read: ({ row: { startAttempt } }) =>
      startAttempt && [
        ...[text(startAttempt.atMs), text(startAttempt.count)],
        text(startAttempt.unreached ?? 0),
      ],
  },
  {
    table: 'machine_agent_started',
    columns: [
      ['agent_started_at', 'timestamptz'],
      ['agent_public_key', 'bytea'],
      ['boot_id', 'text'],
    ],
    read: ({ row: { agentStarted } }) =>
      agentStarted && [text(agentStarted.atMs), agentStarted.publicKey, agentStarted.bootId],
  },
  {
    table: 'machine_boot_times',
    columns: [
      ['reboot_seconds', '_int8'],
      ['reinstall_seconds', '_int8'],
    ],
    read: ({ row: { bootTimes } }) =>
      bootTimes.reboot.length + bootTimes.reinstall.length === 0
        ? null
        : [list(bootTimes.reboot), list(bootTimes.reinstall)],
  },
  {
    table: 'machine_deprovision_request',
    columns: [
      ['requested_at', 'timestamptz'],
      ['requested_by', 'text'],
      ['reason', 'text'],
      ['asked_at', 'timestamptz'],
      ['attempts', 'int8'],
      ['drain', 'text'],
      ['return_to_pool', 'bool'],
    ],
    read: ({ row: { deprovision } }) =>
      deprovision && [
        ...[text(deprovision.requestedAtMs), deprovision.requestedBy, deprovision.reason],
        ...[text(deprovision.askedAtMs), text(deprovision.attempts)],
        ...[deprovision.drain, String(deprovision.returnToPool)],
      ],
  },
  {
    table: 'machine_hardware_report',
    columns: [['hardware_report_raw', 'bytea']],
    read: ({ hardwareReport }) => hardwareReport && [hex(hardwareReport)],
  },
  {
    table: 'machine_os_installation_report',
    columns: [
      ['generation', 'int8'],
      ['os_installation_result', 'machine_os_installation_result'],
      ['os_installation_report_raw', 'bytea'],
    ],
    read: ({ row: { installation }, installationReport }) =>
      installation.reportGeneration === null
        ? null
        : [
            ...[text(installation.reportGeneration), installation.reportResult],
            hex(installationReport ?? new Uint8Array()),
          ],
  },
  {
    table: 'machine_os_installation_request',
    columns: [
      ['generation', 'int8'],
      ['os_installation_request_raw', 'bytea'],
      ['handed_out_at', 'timestamptz'],
    ],
    read: ({ row: { installation }, request }) =>
      installation.requestGeneration === null
        ? null
        : [
            ...[text(installation.requestGeneration), hex(request ?? new Uint8Array())],
            text(installation.handedOutAtMs),
          ],
  },
  {
    table: 'machine_provided',
    columns: [
      ['provider', 'text'],
      ['provider_id', 'varchar'],
      ['provider_reservation_id', 'varchar'],
      ['provider_ip_address', 'varchar'],
      ['provider_location', 'varchar'],
      ['provider_status', 'provider_status'],
      ['provider_missing_since', 'timestamptz'],
      ['provider_missing_seen', 'int8'],
    ],
    read: ({ row: { provided, missing } }) =>
      provided && [
        ...[provided.provider, provided.providerId, provided.reservationId],
        ...[provided.address, provided.location, provided.status],
        ...[text(missing?.sinceMs ?? null), text(missing?.seen ?? 0)],
      ],
  },
  {
    table: 'machine_quarantined',
    columns: [
      ['kind', 'quarantine_kind'],
      ['reason', 'text'],
      ['until', 'timestamptz'],
      ['set_by', 'text'],
    ],
    read: ({ row: { quarantine }, quarantinedBy }) =>
      quarantine && [
        ...[quarantine.kind, quarantine.reason],
        ...[text(quarantine.untilMs), quarantinedBy],
      ],
  },
  {
    table: 'machine_recovery',
    columns: [
      ['rung', 'recovery_rung'],
      ['attempts', 'int8'],
      ['asked_at', 'timestamptz'],
      ['operation_ref', 'text'],
      ['next_at', 'timestamptz'],
      ['cool_down_seconds', 'int8'],
      ['asked_rung', 'recovery_rung'],
      ['order_key', 'text'],
      ['boot_id_before', 'text'],
      ['host_key_before', 'text'],
      ['off_seen_at', 'timestamptz'],
      ['power_off_asked_at', 'timestamptz'],
    ],
    read: ({ row: { recovery }, coolDownSeconds }) =>
      recovery && [
        ...[recovery.rung, text(recovery.attempts), text(recovery.askedAtMs)],
        ...[recovery.operationRef, text(recovery.nextAtMs), text(coolDownSeconds)],
        ...[recovery.askedRung, recovery.orderKey, recovery.bootIdBefore],
        ...[recovery.hostKeyBefore, text(recovery.offSeenAtMs)],
        text(recovery.powerOffAskedAtMs),
      ],
  },
  {
    table: 'machine_ssh_host_key',
    columns: [['key', 'text']],
    read: ({ row: { hostKey } }) => (hostKey === null ? null : [hostKey]),
  },
];
