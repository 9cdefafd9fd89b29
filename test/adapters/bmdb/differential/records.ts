import type { BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { PROVIDERS } from './commands.ts';
import type { Command } from './commands.ts';
import { last } from './fleet.ts';

/** What of a side is needed here. */
interface RecordSide {
  readonly h: BmdbHarness;
  /** Of all that was written, in the order in which it was. */
  readonly versions: string[];
}

/** Makes, changes or drops a record, as a driver does that read it at some time. */
export function keepRecord(
  side: RecordSide,
  { records }: BmdbSession,
  { provider, key, act, value, version: back }: Extract<Command, { do: 'keepRecord' }>,
): (() => Promise<unknown>) | null {
  const name = { provider: PROVIDERS[provider]!, key: `slot-${key}` };
  const version = last(side.versions, back);
  // Versions are each implementation's own.
  const written = (next: string) => void side.versions.push(next);
  if (act === 'make') return async () => written(await records.make(name, { value }));
  if (version === undefined) return null;
  return act === 'drop'
    ? () => records.drop(name, version)
    : async () => written(await records.replace(name, { value }, version));
}

/** All that is kept, as every daemon sees it. */
export async function readRecords({ h }: RecordSide): Promise<unknown> {
  const kept = await Promise.all(PROVIDERS.map((each) => h.other.records.all(each, SIGNAL)));
  const shown = kept.map((records) => records.map(({ key, value }) => ({ key, value })));
  const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
  const counts = [...(await h.bmdb.records.counts(SIGNAL))].toSorted();
  return { kept: shown.map((records) => records.toSorted(byKey)), counts };
}
