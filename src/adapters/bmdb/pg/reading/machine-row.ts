import type { MemberRow } from '../../../../domain/balancing/members.ts';
import { machineId } from '../../../../domain/ids.ts';
import {
  ALWAYS,
  DRAIN_MODES,
  INSTALLATION_RESULTS,
  MACHINE_PARTS,
  PROCESSES,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
} from '../../../../domain/machine.ts';
import type {
  BackoffRow,
  Field,
  LiveWork,
  MachineRow,
  PartName,
} from '../../../../domain/machine.ts';
import { MEMBER_LIST } from '../balancing/pool-rows.ts';
import { ORDER } from '../eligibility.ts';
import { LIVE, ms } from '../sql.ts';
import type { As, ColumnType, RowOf } from '../statement.ts';
import { STANDING_RUNGS } from '../../../../domain/recovery/rungs.ts';

/** A field of a part: its column in the answer, its expression and its type. */
interface FieldColumn {
  readonly field: string;
  readonly column: string;
  readonly kind: string;
  readonly sql: string;
  readonly type: ColumnType;
}
const TYPES: Readonly<Record<string, ColumnType>> = {
  ...{ ms: 'float8?', int: 'int8?', bigint: 'int8?', bool: 'bool?', numbers: 'int8[]?' },
};
const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const columnOf = (part: string, field: string, [named, sql]: Field): FieldColumn => {
  const kind = named.replace('?', '');
  const type = TYPES[kind] ?? 'text?';
  const read = kind === 'ms' ? ms(sql) : type === 'text?' ? `(${sql})::text` : sql;
  return { field, column: snake(`${part}_${field}`), kind, sql: read, type };
};
const PARTS = Object.entries(MACHINE_PARTS).map(([name, fields]) => ({
  name: name as PartName,
  isAlways: (ALWAYS as readonly string[]).includes(name),
  columns: Object.entries(fields).map(([field, about]) => columnOf(name, field, about)),
}));
const FIELDS = PARTS.flatMap(({ columns }) => columns);

/**
 * Types of a machine's columns; for `columns` of a statement with `MACHINE` in its text. Includes
 * the columns of `MACHINE_PARTS`. Empty lists are null.
 */
export const MACHINE_COLUMNS = {
  ...(Object.fromEntries(FIELDS.map(({ column, type }) => [column, type])) as unknown as object),
  ...({ machine_id: 'uuid', created_at: 'float8', permit: 'bool', host_key: 'text?' } as const),
  members: 'jsonb?' as As<'jsonb?', readonly MemberRow[] | null>,
  work: 'jsonb?' as As<'jsonb?', readonly LiveWork[] | null>,
  backoffs: 'jsonb?' as As<'jsonb?', readonly BackoffRow[] | null>,
};
export type FlatMachine = RowOf<typeof MACHINE_COLUMNS>;

/** The column `work`, over rows of `work w` with live sessions. */
export const WORK_LIST = `jsonb_agg(jsonb_build_object('process', w.process,
  'sessionId', w.session_id, 'epoch', w.epoch::text, 'startedAtMs', ${ms('w.work_started_at')}))`;
/** The column `backoffs`, over rows of `work_backoff b`. */
export const BACKOFF_LIST = `jsonb_agg(jsonb_build_object('process', b.process,
  'untilMs', ${ms('b.until')}, 'cause', b.cause, 'lastIntervalSeconds', b.last_interval_seconds))`;

/** If no members exist at all, which is checked once, no look-ups are made. */
const MEMBERS = `CASE WHEN (SELECT EXISTS (SELECT 1 FROM pool_members))
  THEN (SELECT ${MEMBER_LIST} FROM pool_members g WHERE g.machine_id = m.machine_id) END`;

/**
 * Columns of a machine in the order of `MACHINE_COLUMNS`, over `MACHINE_TABLES`.
 * @param lists expressions for the last two columns.
 */
export const machineSql = (lists: Readonly<Record<'work' | 'backoffs', string>>): string =>
  `${FIELDS.map(({ column, sql }) => `${sql} AS ${column}`).join(', ')},
  m.machine_id, ${ms('m.machine_created_at')} AS created_at, e.machine_id IS NOT NULL AS permit,
  k.key AS host_key, ${MEMBERS} AS members, ${lists.work} AS work, ${lists.backoffs} AS backoffs`;

/** Columns of a machine, with look-ups for the lists. */
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
  ['x', 'machine_acceptances'],
] as const;

/** For FROM. Every joined table has at most one row per machine, so the join multiplies nothing. */
export const MACHINE_TABLES = [
  'machines m',
  ...TAGS.map(
    ([alias, table]) => `LEFT JOIN ${table} ${alias} ON ${alias}.machine_id = m.machine_id`,
  ),
  `LEFT JOIN operator_intents y ON ${ORDER}`,
].join('\n');

/** Converts a row to the domain's form. Total: an unknown value makes it `unreadable`. */
export function toMachine(row: FlatMachine): MachineRow {
  const unknown: string[] = [];
  const read = readerInto(unknown);
  const unknownRung = unknownRungOf(row);
  const isKnown = ({ process }: { readonly process: string }) =>
    read('process', process, PROCESSES) !== null;
  const machine: MachineRow = {
    machineId: machineId(row.machine_id),
    createdAtMs: row.created_at,
    ...(toParts(row, read) as Pick<MachineRow, PartName>),
    ...(unknownRung !== null && { recovery: null, unknownRung }),
    permit: row.permit,
    hostKey: row.host_key,
    members: row.members ?? NO_MEMBERS,
    work: (row.work ?? []).filter(isKnown),
    backoffs: (row.backoffs ?? []).filter(isKnown),
  };
  if (unknown.length === 0) return machine;
  const what = unknown.join(', ');
  const why = `this program does not know ${what} of machine ${row.machine_id}; upgrade it`;
  return { ...machine, unreadable: why };
}

/** Returns the value if it is known; otherwise returns null and records the value. */
type ReadKnown = <T extends string>(
  what: string,
  value: string | null,
  known: readonly T[],
) => T | null;

const readerInto =
  (unknown: string[]): ReadKnown =>
  (what, value, known) => {
    if (value === null) return null;
    const found = known.find((each) => each === value);
    if (found === undefined) unknown.push(`${what} "${value}"`);
    return found ?? null;
  };

function toParts(row: object, read: ReadKnown): Record<string, unknown> {
  const flat = row as Readonly<Record<string, unknown>>;
  const parts: Record<string, unknown> = {};
  for (const { name, isAlways, columns } of PARTS) {
    const [first] = columns;
    const isThere = isAlways || valueOf(first!.kind, flat[first!.column], read) !== null;
    parts[name] = isThere ? toPart(columns, flat, read) : null;
  }
  return parts;
}

function toPart(
  columns: readonly FieldColumn[],
  flat: Readonly<Record<string, unknown>>,
  read: ReadKnown,
): Record<string, unknown> {
  const part: Record<string, unknown> = {};
  for (const { field, column, kind } of columns) part[field] = valueOf(kind, flat[column], read);
  return part;
}

function valueOf(kind: string, value: unknown, read: ReadKnown): unknown {
  switch (kind) {
    case 'int':
      return value === null ? null : Number(value);
    case 'bigint':
      return value === null ? null : BigInt(value as string);
    case 'numbers':
      return ((value ?? []) as readonly string[]).map(Number);
    case 'status':
      return read('provider status', value as string | null, PROVIDER_STATUSES);
    case 'result':
      return read('installation result', value as string | null, INSTALLATION_RESULTS);
    case 'quarantine':
      return read('quarantine kind', value as string | null, QUARANTINE_KINDS);
    case 'drain':
      // If the drain mode is unknown to this daemon, it waits for the pools.
      return DRAIN_MODES.find((each) => each === value) ?? null;
    default:
      return value;
  }
}

/** The episode's rung if unknown to this program; the rest of the episode is left out then. */
function unknownRungOf(row: object): string | null {
  const { recovery_rung: rung, recovery_asked_rung: asked } = row as Readonly<
    Record<string, string | null>
  >;
  const strange = [rung, asked].find(
    (each) => typeof each === 'string' && !(STANDING_RUNGS as readonly string[]).includes(each),
  );
  return strange ?? null;
}

/** Shared by nearly all machines, which have no members. */
const NO_MEMBERS: readonly MemberRow[] = [];
