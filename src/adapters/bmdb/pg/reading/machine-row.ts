import type { MemberRow } from '../../../../domain/balancing/members.ts';
import { machineId, providerName, sessionId } from '../../../../domain/ids.ts';
import {
  DRAIN_MODES,
  PROCESSES,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
} from '../../../../domain/machine.ts';
import type {
  BackoffRow,
  DrainMode,
  LadderRow,
  LiveWork,
  MachineRow,
  OrderRow,
  Provided,
} from '../../../../domain/machine.ts';
import type { OrderVerb } from '../../../../domain/verbs.ts';
import { forTraits, TRAIT_NAMES, TRAITS, traitsOf } from '../../../../domain/traits.ts';
import { MEMBER_LIST, toMember } from '../balancing/member-rows.ts';
import type { FlatMember } from '../balancing/member-rows.ts';
import { ORDER } from '../eligibility.ts';
import { LIVE, ms } from '../sql.ts';
import type { RowOf } from '../statement.ts';
import { STANDING_RUNGS, type StandingRung } from '../../../../domain/recovery/rung-names.ts';

/**
 * What a machine's row is read as; for `columns` of a statement, with `MACHINE` in its text.
 * `members`, `work` and `backoffs` hold a `FlatMember`, a `FlatWork` and a `FlatBackoff` each, or
 * null for none.
 */
export const MACHINE_COLUMNS = {
  machine_id: 'uuid',
  created_at: 'float8',
  provider: 'text?',
  provider_id: 'text?',
  provider_reservation_id: 'text?',
  provider_ip_address: 'text?',
  ...forTraits(() => 'text?' as const),
  provider_status: 'provider_status?',
  missing_since: 'float8?',
  missing_seen: 'int8?',
  started_at: 'float8?',
  public_key: 'text?',
  started_boot_id: 'text?',
  heartbeat_at: 'float8?',
  heartbeat_boot_id: 'text?',
  request_generation: 'int8?',
  handed_out_at: 'float8?',
  report_generation: 'int8?',
  report_result: 'machine_os_installation_result?',
  attempted_at: 'float8?',
  attempt_count: 'int8?',
  attempts_unreached: 'int8?',
  rung: 'recovery_rung?',
  attempts: 'int8?',
  asked_at: 'float8?',
  operation_ref: 'text?',
  next_at: 'float8?',
  asked_rung: 'recovery_rung?',
  asked_for: 'text?',
  boot_id_before: 'text?',
  host_key_before: 'text?',
  off_seen_at: 'float8?',
  power_off_asked_at: 'float8?',
  reboot_seconds: 'int8[]?',
  reinstall_seconds: 'int8[]?',
  order_key: 'text?',
  order_verb: 'text?',
  order_by: 'text?',
  order_reason: 'text?',
  order_force: 'bool?',
  order_drain: 'text?',
  order_expires_at: 'float8?',
  permit: 'bool',
  quarantine_kind: 'quarantine_kind?',
  quarantine_reason: 'text?',
  quarantine_until: 'float8?',
  deprovision_at: 'float8?',
  deprovision_by: 'text?',
  deprovision_reason: 'text?',
  deprovision_attempts: 'int8?',
  deprovision_asked_at: 'float8?',
  deprovision_drain: 'text?',
  deprovision_returns: 'bool?',
  host_key: 'text?',
  members: 'jsonb?',
  work: 'jsonb?',
  backoffs: 'jsonb?',
} as const;
export type FlatMachine = RowOf<typeof MACHINE_COLUMNS>;

/** Over rows of `work w` whose sessions live: the column `work`. */
export const WORK_LIST = `jsonb_agg(jsonb_build_object('process', w.process,
  'session', w.session_id, 'epoch', w.epoch::text, 'startedAt', ${ms('w.work_started_at')}))`;
/** Over rows of `work_backoff b`: the column `backoffs`. */
export const BACKOFF_LIST = `jsonb_agg(jsonb_build_object('process', b.process,
  'until', ${ms('b.until')}, 'cause', b.cause, 'lastIntervalSeconds', b.last_interval_seconds))`;

/** Where there are no members at all, which is asked once, nobody's are looked up. */
const MEMBERS = `CASE WHEN (SELECT EXISTS (SELECT 1 FROM pool_members))
  THEN (SELECT ${MEMBER_LIST} FROM pool_members g WHERE g.machine_id = m.machine_id) END`;

/**
 * Columns of a machine, in the order of `MACHINE_COLUMNS`; over `MACHINE_TABLES`.
 * @param lists expressions for the last two of them.
 */
export const machineSql = (
  lists: Readonly<Record<'work' | 'backoffs', string>>,
): string => `m.machine_id, ${ms('m.machine_created_at')} AS created_at,
  p.provider, p.provider_id::text AS provider_id,
  p.provider_reservation_id::text AS provider_reservation_id,
  p.provider_ip_address::text AS provider_ip_address,
  ${TRAIT_NAMES.map((name) => `p.${TRAITS[name].column}::text AS ${name}`).join(', ')},
  p.provider_status,
  ${ms('p.provider_missing_since')} AS missing_since, p.provider_missing_seen AS missing_seen,
  ${ms('a.agent_started_at')} AS started_at, encode(a.agent_public_key, 'hex') AS public_key,
  a.boot_id AS started_boot_id,
  ${ms('h.agent_heartbeat_at')} AS heartbeat_at, h.boot_id AS heartbeat_boot_id,
  r.generation AS request_generation, ${ms('r.handed_out_at')} AS handed_out_at,
  o.generation AS report_generation, o.os_installation_result AS report_result,
  ${ms('t.attempted_at')} AS attempted_at, t.count AS attempt_count,
  t.unreached AS attempts_unreached,
  l.rung, l.attempts, ${ms('l.asked_at')} AS asked_at, l.operation_ref,
  ${ms('l.next_at')} AS next_at, l.asked_rung, l.order_key AS asked_for, l.boot_id_before,
  l.host_key_before, ${ms('l.off_seen_at')} AS off_seen_at,
  ${ms('l.power_off_asked_at')} AS power_off_asked_at,
  c.reboot_seconds, c.reinstall_seconds,
  y.idempotency_key AS order_key, y.verb AS order_verb, y.actor AS order_by,
  y.reason AS order_reason, y.parameters @> '{"force": true}' AS order_force,
  y.parameters ->> 'drain' AS order_drain, ${ms('y.expires_at')} AS order_expires_at,
  e.machine_id IS NOT NULL AS permit,
  q.kind AS quarantine_kind, q.reason AS quarantine_reason, ${ms('q.until')} AS quarantine_until,
  ${ms('d.requested_at')} AS deprovision_at, d.requested_by AS deprovision_by,
  d.reason AS deprovision_reason, d.attempts AS deprovision_attempts,
  ${ms('d.asked_at')} AS deprovision_asked_at, d.drain AS deprovision_drain,
  d.return_to_pool AS deprovision_returns, k.key AS host_key,
  ${MEMBERS} AS members,
  ${lists.work} AS work, ${lists.backoffs} AS backoffs`;

/** The same, with look-ups for the lists. */
export const MACHINE = machineSql({
  work: `(SELECT ${WORK_LIST} FROM work w JOIN sessions s USING (session_id)
    WHERE w.machine_id = m.machine_id AND ${LIVE})`,
  backoffs: `(SELECT ${BACKOFF_LIST} FROM work_backoff b WHERE b.machine_id = m.machine_id)`,
});

const TAGS = [
  ['p', 'machine_provided'],
  ['a', 'machine_agent_started'],
  ['h', 'machine_agent_heartbeat'],
  ['r', 'machine_os_installation_request'],
  ['o', 'machine_os_installation_report'],
  ['t', 'machine_agent_start_attempt'],
  ['l', 'machine_recovery'],
  ['c', 'machine_boot_times'],
  ['e', 'recovery_permits'],
  ['q', 'machine_quarantined'],
  ['d', 'machine_deprovision_request'],
  ['k', 'machine_ssh_host_key'],
] as const;

/** For FROM. Every joined table has at most one row per machine, so nothing is multiplied. */
export const MACHINE_TABLES = [
  'machines m',
  ...TAGS.map(
    ([alias, table]) => `LEFT JOIN ${table} ${alias} ON ${alias}.machine_id = m.machine_id`,
  ),
  `LEFT JOIN operator_intents y ON ${ORDER}`,
].join('\n');

interface FlatWork {
  readonly process: string;
  readonly session: string;
  readonly epoch: string;
  readonly startedAt: number;
}
interface FlatBackoff {
  readonly process: string;
  readonly until: number;
  readonly cause: string;
  readonly lastIntervalSeconds: number | null;
}

/** A row as the domain knows it. Total: a value that this program does not know is `unreadable`. */
export function toMachine(row: FlatMachine): MachineRow {
  const unknown: string[] = [];
  const read = readerInto(unknown);
  const machine: MachineRow = {
    machineId: machineId(row.machine_id),
    createdAtMs: row.created_at,
    provided: toProvided(row, read),
    ...toAgent(row, read),
    ...toLadder(row),
    bootTimes: {
      reboot: toNumbers(row.reboot_seconds),
      reinstall: toNumbers(row.reinstall_seconds),
    },
    order: toOrder(row),
    permit: row.permit,
    quarantine: toQuarantine(row, read),
    deprovision: toDeprovision(row),
    missing: toMissing(row),
    hostKey: row.host_key,
    members: toMembers(row),
    work: ((row.work ?? []) as FlatWork[]).flatMap((work) => toWork(work, read)),
    backoffs: ((row.backoffs ?? []) as FlatBackoff[]).flatMap((each) => toBackoff(each, read)),
  };
  if (unknown.length === 0) return machine;
  const what = unknown.join(', ');
  const why = `this program does not know ${what} of machine ${row.machine_id}; upgrade it`;
  return { ...machine, unreadable: why };
}

/** Gives a value back that is one of those known; else null, and notes what it was. */
type Read = <T extends string>(what: string, value: string | null, known: readonly T[]) => T | null;

const readerInto =
  (unknown: string[]): Read =>
  (what, value, known) => {
    if (value === null) return null;
    const found = known.find((each) => each === value);
    if (found === undefined) unknown.push(`${what} "${value}"`);
    return found ?? null;
  };

const toProvided = (row: FlatMachine, read: Read): Provided | null =>
  row.provider === null
    ? null
    : {
        provider: providerName(row.provider),
        providerId: row.provider_id!,
        reservationId: row.provider_reservation_id,
        address: row.provider_ip_address,
        ...traitsOf(row),
        status: read('provider status', row.provider_status, PROVIDER_STATUSES),
      };

const toAgent = (
  row: FlatMachine,
  read: Read,
): Pick<MachineRow, 'agentStarted' | 'heartbeat' | 'installation'> => ({
  agentStarted:
    row.started_at === null
      ? null
      : { atMs: row.started_at, publicKey: row.public_key!, bootId: row.started_boot_id },
  heartbeat:
    row.heartbeat_at === null ? null : { atMs: row.heartbeat_at, bootId: row.heartbeat_boot_id },
  installation: {
    requestGeneration: toBigInt(row.request_generation),
    handedOutAtMs: row.handed_out_at,
    reportGeneration: toBigInt(row.report_generation),
    reportResult: read('installation result', row.report_result, ['Success', 'Error']),
  },
});

/** Of an episode on a rung that this program does not know, that is all that is told. */
function toLadder(row: FlatMachine): Pick<MachineRow, 'startAttempt' | 'recovery' | 'unknownRung'> {
  const startAttempt = toStartAttempt(row);
  const unknownRung = [row.rung, row.asked_rung].find((rung) => rung !== null && !isRung(rung));
  if (typeof unknownRung === 'string') return { startAttempt, recovery: null, unknownRung };
  return { startAttempt, recovery: toEpisode(row) };
}

const isRung = (text: string): text is StandingRung =>
  (STANDING_RUNGS as readonly string[]).includes(text);

function toStartAttempt(row: FlatMachine): MachineRow['startAttempt'] {
  if (row.attempt_count === null) return null;
  const unreached = Number(row.attempts_unreached ?? 0);
  const count = Number(row.attempt_count);
  return { atMs: row.attempted_at, count, ...(unreached > 0 && { unreached }) };
}

/** Both rungs are known. */
function toEpisode(row: FlatMachine): LadderRow | null {
  const [rung, askedRung] = [row.rung, row.asked_rung] as [
    StandingRung | null,
    StandingRung | null,
  ];
  return (
    rung && {
      rung,
      attempts: Number(row.attempts),
      nextAtMs: row.next_at,
      askedAtMs: row.asked_at,
      askedRung: askedRung ?? null,
      orderKey: row.asked_for,
      operationRef: row.operation_ref,
      bootIdBefore: row.boot_id_before,
      hostKeyBefore: row.host_key_before,
      offSeenAtMs: row.off_seen_at,
      powerOffAskedAtMs: row.power_off_asked_at,
    }
  );
}

/** Of one that this program cannot carry out it knows nothing: see `ORDER`. */
const toOrder = (row: FlatMachine): OrderRow | null =>
  row.order_key === null
    ? null
    : {
        key: row.order_key,
        verb: row.order_verb as OrderVerb,
        by: row.order_by!,
        reason: row.order_reason!,
        force: row.order_force!,
        drain: toDrain(row.order_drain),
        expiresAtMs: row.order_expires_at!,
      };

/** Whoever does not know how it is to leave its pools waits until they let it go. */
const toDrain = (text: string | null): DrainMode | null =>
  DRAIN_MODES.find((each) => each === text) ?? null;

/** Nearly all machines have none, and share that. */
const NO_MEMBERS: readonly MemberRow[] = [];
const toMembers = (row: FlatMachine): readonly MemberRow[] =>
  row.members === null
    ? NO_MEMBERS
    : (row.members as FlatMember[]).map((each) => toMember(row.machine_id, each));

const toNumbers = (texts: readonly string[] | null): number[] => (texts ?? []).map(Number);

function toQuarantine(row: FlatMachine, read: Read): MachineRow['quarantine'] {
  const kind = read('quarantine kind', row.quarantine_kind, QUARANTINE_KINDS);
  return kind && { kind, reason: row.quarantine_reason!, untilMs: row.quarantine_until };
}

const toDeprovision = (row: FlatMachine): MachineRow['deprovision'] =>
  row.deprovision_at === null
    ? null
    : {
        requestedAtMs: row.deprovision_at,
        requestedBy: row.deprovision_by!,
        reason: row.deprovision_reason!,
        drain: toDrain(row.deprovision_drain),
        returnToPool: row.deprovision_returns!,
        attempts: Number(row.deprovision_attempts),
        askedAtMs: row.deprovision_asked_at,
      };

const toMissing = ({ missing_since: sinceMs, missing_seen: seen }: FlatMachine) =>
  sinceMs === null ? null : { sinceMs, seen: Number(seen) };

const toBigInt = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

function toWork(row: FlatWork, read: Read): LiveWork[] {
  const process = read('process', row.process, PROCESSES);
  if (!process) return [];
  const { epoch, startedAt } = row;
  return [{ process, sessionId: sessionId(row.session), epoch, startedAtMs: startedAt }];
}

function toBackoff(row: FlatBackoff, read: Read): BackoffRow[] {
  const process = read('process', row.process, PROCESSES);
  if (!process) return [];
  const { until, cause, lastIntervalSeconds } = row;
  return [{ process, untilMs: until, cause, lastIntervalSeconds }];
}
