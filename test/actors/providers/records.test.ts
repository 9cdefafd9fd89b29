import { beforeEach, describe, expect, test } from 'vitest';
import { createReadRecords, createRecords } from '../../../src/actors/providers/records.ts';
import type { BmdbSession } from '../../../src/adapters/bmdb/port.ts';
import {
  AmbiguousCommit,
  type ProviderError,
  SchemaMismatch,
  SessionExpired,
  Unreachable,
} from '../../../src/domain/errors.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb, type MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';

const RACK = providerName('rack');
const live = () => ({ signal: new AbortController().signal });
let bmdb: MemBmdb;
let session: BmdbSession;
beforeEach(async () => {
  bmdb = createMemBmdb({
    clock: createSimulatedClock(),
    random: createSeededRandom(1),
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
  });
  session = await bmdb.openSession({ component: 'test', runtimeInfo: 'x', intervalMs: 60_000 });
});

test('lets a driver read and write the rows of its own provider', async () => {
  const records = createRecords(RACK, { bmdb, repository: () => session.records });
  const first = await records.make('a', 1, live());
  const second = await records.replace('a', 2, first, live());
  expect(await records.all(live())).toEqual([{ key: 'a', value: 2, version: second }]);
  expect(await bmdb.records.all(RACK, live().signal)).toEqual(await records.all(live()));
  const other = createRecords(providerName('barn'), { bmdb, repository: () => session.records });
  expect(await other.all(live())).toEqual([]);
  await records.drop('a', second, live());
  expect(await records.all(live())).toEqual([]);
});

test('writes with the newest session', async () => {
  let current = session;
  const records = createRecords(RACK, { bmdb, repository: () => current.records });
  const version = await records.make('a', 1, live());
  await session.close();
  await expect(records.drop('a', version, live())).rejects.toMatchObject({ kind: 'aborted' });
  current = await bmdb.openSession({ component: 'test', runtimeInfo: 'x', intervalMs: 60_000 });
  await records.drop('a', version, live());
  expect(await records.all(live())).toEqual([]);
});

const failing = (error: Error) => {
  const fail = () => Promise.reject(error);
  const repository = () => ({ make: fail, replace: fail, drop: fail });
  return createRecords(RACK, { bmdb: { records: { all: fail, counts: fail } }, repository });
};

describe('translates the database’s errors for drivers', () => {
  test.each<readonly [string, Error, ProviderError['kind'], ProviderError['outcome']]>([
    ['out of reach', new Unreachable('down'), 'transient', 'not-done'],
    ['a dead session', new SessionExpired('over'), 'aborted', 'not-done'],
    ['a lost commit', new AmbiguousCommit('lost'), 'transient', 'unknown'],
  ])('%s', async (_, error, kind, outcome) => {
    const records = failing(error);
    const made = { kind, outcome, cause: error };
    await expect(records.make('a', 1, live())).rejects.toMatchObject(made);
    // An earlier request to the vendor is possible.
    const later = { ...made, outcome: 'unknown' };
    await expect(records.replace('a', 1, 'v', live())).rejects.toMatchObject(later);
    await expect(records.drop('a', 'v', live())).rejects.toMatchObject(later);
  });

  test('passes other lasting errors unchanged', async () => {
    const error = new SchemaMismatch('too old');
    await expect(failing(error).all(live())).rejects.toBe(error);
  });
});

test('ends an aborted call at once and starts none', async () => {
  const stuck = () => new Promise<never>(() => undefined);
  let begun = 0;
  const repository = () => {
    begun += 1;
    return { make: stuck, replace: stuck, drop: stuck };
  };
  const records = createRecords(RACK, {
    bmdb: { records: { all: stuck, counts: stuck } },
    repository,
  });
  const off = { signal: AbortSignal.abort() };
  const refused = records.make('a', 1, off);
  expect(begun).toBe(0);
  await expect(refused).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  const calling = new AbortController();
  const [write, read] = [records.make('a', 1, calling), records.all(calling)];
  calling.abort();
  await expect(write).rejects.toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  await expect(read).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
});

test('lets a command read records and not write', async () => {
  await session.records.make({ provider: RACK, key: 'a' }, 1);
  const records = createReadRecords(RACK, bmdb);
  expect(await records.all(live())).toHaveLength(1);
  await expect(records.make('b', 1, live())).rejects.toMatchObject({
    kind: 'permanent',
    message: expect.stringContaining('a running daemon does'),
  });
});
