import { ProviderError } from '../errors.ts';
import type { ProviderName } from '../ids.ts';

/** Content of a record: any value that JSON preserves. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A row that belongs to a driver: an ownership mark, and the progress of a vendor change. */
export interface ProviderRecord {
  readonly key: string;
  readonly value: Json;
  /** Opaque; each write changes it. A change names the version that was read. */
  readonly version: string;
}

/** Identifies a record of a provider. */
export interface RecordName {
  readonly provider: ProviderName;
  readonly key: string;
}

/** Longest value, in bytes of JSON. */
export const RECORD_BYTES_MAX = 16 * 1024;
/** Most records of one provider. */
export const RECORDS_MAX = 100_000;
/** Deepest value. */
const DEPTH_MAX = 64;
/** Longest JSON pointer in a message. */
const POINTER_MAX = 200;

const KEY = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/** @throws {ProviderError} `invalid`: the key is malformed. */
export function requireRecordKey({ provider, key }: RecordName): void {
  if (KEY.test(key)) return;
  const what = `a record of provider ${provider} cannot have a key of ${key.length} characters`;
  throw new ProviderError('invalid', `${what}: choose one of 1 to 200 printable characters`);
}

/**
 * The value as JSON.
 * @throws {ProviderError} `invalid`: the value is too long, or JSON would change it.
 */
export function recordText(name: RecordName, value: Json): string {
  requireRecordKey(name);
  const at = misfitIn(value, '', 0);
  if (at !== null) {
    const what = `${recordOf(name)} cannot hold what is at "${at.slice(0, POINTER_MAX)}" of its value`;
    const mend =
      'keep to null, booleans, finite numbers, well-formed text without NUL, lists and plain ' +
      `objects, at most ${DEPTH_MAX} deep`;
    throw new ProviderError('invalid', `${what}: ${mend}`);
  }
  const text = JSON.stringify(value);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= RECORD_BYTES_MAX) return text;
  throw new ProviderError(
    'invalid',
    `the value of ${recordOf(name)} has ${bytes} bytes as JSON, and may have ${RECORD_BYTES_MAX}: ` +
      'keep less, or split it over several records',
  );
}

/** JSON pointer of the first value that JSON would lose or change; null: none. */
function misfitIn(value: unknown, at: string, depth: number): string | null {
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'string') return isPlain(value) ? null : at;
  if (typeof value === 'number') return Number.isFinite(value) ? null : at;
  if (typeof value !== 'object' || depth >= DEPTH_MAX) return at;
  const isList = Array.isArray(value);
  if (!isList && Object.getPrototypeOf(value) !== Object.prototype) return at;
  const entries: Iterable<readonly [string | number, unknown]> = isList
    ? value.entries()
    : Object.entries(value);
  for (const [key, item] of entries) {
    const below = `${at}/${key}`;
    const found = isPlain(String(key)) ? misfitIn(item, below, depth + 1) : below;
    if (found !== null) return found;
  }
  return null;
}

const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

const recordOf = ({ provider, key }: RecordName): string =>
  `record "${key}" of provider ${provider}`;

/** `make`: another daemon, or an earlier run, already made the record. */
export const recordIsThere = (name: RecordName): ProviderError =>
  new ProviderError(
    'conflict',
    `${recordOf(name)} is there already: read it, and go on from what it says`,
  );

/** `make`: the provider has its maximum number of records. */
export const recordsAreFull = (name: RecordName): ProviderError =>
  new ProviderError(
    'invalid',
    `${recordOf(name)} was not made: there are ${RECORDS_MAX} already, which is the most that one ` +
      'provider may have; drop records that are no longer needed',
  );

/** `replace` and `drop`: the record changed after it was read. */
export const recordDiffers = (name: RecordName, isThere: boolean): ProviderError => {
  const what = isThere ? 'was changed' : 'is gone';
  return new ProviderError(
    'conflict',
    `${recordOf(name)} ${what} since it was read: read it again, and decide anew`,
  );
};

/** Records in memory, with the behaviour of the BMDB's table, for use without a database. */
export type RecordTable = ReturnType<typeof createRecordTable>;

/** @param newVersion returns a new value each time. */
export function createRecordTable(newVersion: () => string) {
  const tables = new Map<ProviderName, Map<string, { text: string; version: string }>>();

  /** @throws {ProviderError} `conflict`: the record is gone, or changed after it was read. */
  function requireAsRead(name: RecordName, version: string) {
    requireRecordKey(name);
    const table = tables.get(name.provider);
    const found = table?.get(name.key);
    if (!table || found?.version !== version) throw recordDiffers(name, found !== undefined);
    return table;
  }
  function write(table: Map<string, { text: string; version: string }>, key: string, text: string) {
    const version = newVersion();
    table.set(key, { text, version });
    return version;
  }

  return {
    all: (provider: ProviderName): readonly ProviderRecord[] =>
      [...(tables.get(provider) ?? [])].map(([key, { text, version }]) => ({
        key,
        value: JSON.parse(text) as Json,
        version,
      })),
    /** Number of records of each provider. */
    counts: (): ReadonlyMap<ProviderName, number> =>
      new Map(
        [...tables].filter(([, { size }]) => size > 0).map(([name, { size }]) => [name, size]),
      ),
    /** @returns the version. @throws {ProviderError} `conflict`, `invalid`. */
    make(name: RecordName, value: Json): string {
      const text = recordText(name, value);
      const table = tables.get(name.provider) ?? new Map();
      if (table.has(name.key)) throw recordIsThere(name);
      if (table.size >= RECORDS_MAX) throw recordsAreFull(name);
      tables.set(name.provider, table);
      return write(table, name.key, text);
    },
    /** @returns the new version. @throws {ProviderError} `conflict`, `invalid`. */
    replace(name: RecordName, value: Json, version: string): string {
      const text = recordText(name, value);
      return write(requireAsRead(name, version), name.key, text);
    },
    /** @throws {ProviderError} `conflict`, `invalid`. */
    drop: (name: RecordName, version: string): void =>
      void requireAsRead(name, version).delete(name.key),
  };
}
