import type { ProviderName } from '../ids.ts';
import {
  type Json,
  type ProviderRecord,
  recordDiffers,
  recordIsThere,
  type RecordName,
  RECORDS_MAX,
  recordsAreFull,
  recordText,
  requireRecordKey,
} from './records.ts';

/** Records in memory: what the table of the BMDB does, for where there is none. */
export interface RecordTable {
  all(provider: ProviderName): readonly ProviderRecord[];
  /** How many each provider has. */
  counts(): ReadonlyMap<ProviderName, number>;
  /** @returns the version. @throws {ProviderError} `conflict`, `invalid`. */
  make(name: RecordName, value: Json): string;
  /** @returns the new version. @throws {ProviderError} `conflict`, `invalid`. */
  replace(name: RecordName, value: Json, version: string): string;
  /** @throws {ProviderError} `conflict`, `invalid`. */
  drop(name: RecordName, version: string): void;
}

/** @param newVersion never the same twice. */
export function createRecordTable(newVersion: () => string): RecordTable {
  const tables = new Map<ProviderName, Map<string, { text: string; version: string }>>();

  /** @throws {ProviderError} `conflict`: it is gone, or not as it was read. */
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
    all: (provider) =>
      [...(tables.get(provider) ?? [])].map(([key, { text, version }]) => ({
        key,
        value: JSON.parse(text) as Json,
        version,
      })),
    counts: () =>
      new Map(
        [...tables].filter(([, { size }]) => size > 0).map(([name, { size }]) => [name, size]),
      ),
    make(name, value) {
      const text = recordText(name, value);
      const table = tables.get(name.provider) ?? new Map();
      if (table.has(name.key)) throw recordIsThere(name);
      if (table.size >= RECORDS_MAX) throw recordsAreFull(name);
      tables.set(name.provider, table);
      return write(table, name.key, text);
    },
    replace(name, value, version) {
      const text = recordText(name, value);
      return write(requireAsRead(name, version), name.key, text);
    },
    drop: (name, version) => void requireAsRead(name, version).delete(name.key),
  };
}
