import type { Bmdb, BmdbSession, Lease, Work } from '../../../../src/adapters/bmdb/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';
import type { Cursor, MachineId, Witness } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';

/** The result of a command: a value, or the code of the error. */
export type CommandOutcome = { readonly value: unknown } | { readonly error: string };

/** One of the two implementations, with every result so far. */
export interface Side {
  readonly h: BmdbHarness;
  /** Names for generated ids, in the order in which they appeared. */
  readonly names: Map<string, string>;
  /** The latest session of each daemon. Earlier ones are only in `opened`, as after a crash. */
  readonly sessions: (BmdbSession | undefined)[];
  readonly opened: BmdbSession[];
  readonly works: Work[];
  readonly witnesses: Witness[];
  readonly leases: Lease[];
  /** Keys of requests that were submitted, with or without success. */
  readonly keys: string[];
  /** Versions of records, in the order of their writes. */
  readonly versions: string[];
  /** The state of a reader that follows the changes. */
  mirror: Map<MachineId, MachineRow>;
  cursor: Cursor | null;
}

export const createSide = (h: BmdbHarness): Side => ({
  ...{ h, names: new Map(), sessions: [], opened: [], works: [], witnesses: [], leases: [] },
  ...{ keys: [], versions: [], mirror: new Map(), cursor: null },
});

/** Two of the sessions belong to one daemon. */
export const daemonOf = ({ h }: Side, session: number): Bmdb => (session < 2 ? h.bmdb : h.other);

/** The `at`th element from the end. */
export const last = <T>(all: readonly T[], at: number): T | undefined =>
  all.length === 0 ? undefined : all[all.length - 1 - (at % all.length)];

export function name(side: Side, id: string, as: string): void {
  if (!side.names.has(id)) side.names.set(id, as);
}

/** Passes on foreign errors. */
export async function outcomeOf(call: Promise<unknown>): Promise<CommandOutcome> {
  try {
    return { value: (await call) ?? null };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'internal') throw error;
    return { error: code === 'retry-exhausted' ? explain(error) : code };
  }
}

/** Reads everything, and follows the changes from there. */
export async function scan(side: Side): Promise<object> {
  const { cursor, ...snapshot } = await side.h.bmdb.scan(SIGNAL);
  side.cursor = cursor;
  side.mirror = new Map(snapshot.machines.map((row) => [row.machineId, row]));
  return snapshot;
}

/** The last scan plus the later changes must equal a new scan. */
export async function followChanges(side: Side): Promise<unknown> {
  if (side.cursor === null) return scan(side);
  const found = await side.h.bmdb.changesSince(side.cursor, SIGNAL);
  if (found === null) return { told: false, ...(await scan(side)) };
  for (const row of found.machines) side.mirror.set(row.machineId, row);
  for (const id of found.gone) side.mirror.delete(id);
  side.cursor = found.cursor;
  const alive = new Set(found.sessions.map((each) => each.sessionId));
  const { machines: _, gone: __, cursor: ___, ...small } = found;
  return {
    told: true,
    ...small,
    machines: [...side.mirror.values()].map(({ heartbeat: ____, ...row }) => ({
      ...row,
      work: row.work.filter((work) => alive.has(work.sessionId)),
    })),
  };
}

/** Each implementation counts separately. */
const OWN = new Set(['seq', 'version']);

/**
 * A value in the form common to both implementations: ids by name, unordered lists sorted. Their
 * clocks are the same.
 */
export function normalise(side: Side, value: unknown, key = ''): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') {
    return side.names.get(key === 'epoch' ? `epoch ${value}` : value) ?? value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof Map) {
    return normalise(side, Object.fromEntries(value as Map<string, unknown>), key);
  }
  if (Array.isArray(value)) {
    const all = value.map((each) => normalise(side, each, key));
    return UNORDERED.has(key) ? all.toSorted(byIdentity) : all;
  }
  const entries = Object.entries(value).filter(([each]) => !OWN.has(each));
  return Object.fromEntries(entries.map(([of, each]) => [of, normalise(side, each, of)]));
}

const UNORDERED = new Set([
  ...['machines', 'work', 'backoffs', 'intents', 'holds', 'penalties', 'sessions'],
  ...['providerHolds', 'leases', 'gone', 'requests', 'guard'],
]);
const IDENTITY = [
  ...['machineId', 'witness', 'slotId', 'kind', 'process', 'sessionId', 'provider'],
  ...['key', 'name', 'scope'],
];
const identityOf = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? IDENTITY.map((key) => String((value as Record<string, unknown>)[key])).join(' ')
    : String(value);
const byIdentity = (a: unknown, b: unknown): number => (identityOf(a) < identityOf(b) ? -1 : 1);
