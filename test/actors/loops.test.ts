import { expect, test } from 'vitest';
import { createLoops, loopingBmdb } from '../../src/actors/loops.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { createMemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';

const SIGNAL = new AbortController().signal;

test('measures a loop by its last success and later failures, in database time', () => {
  let now = 500;
  const loops = createLoops({ monotonic: () => now }, () => now + 1_000_000);
  const listing = loops.of('listing rack', 60_000);
  loops.of('provisioner rack', 5_000, 'provisioner/rack');
  const told = () => loops.all()[0]!;
  expect(told()).toEqual({
    ...{ name: 'listing rack', periodMs: 60_000, job: null },
    ...{ lastSuccessAtMs: null, failure: null },
  });
  listing.succeeded();
  now = 700;
  listing.failed(new Error('first'));
  now = 800;
  listing.failed(new Error('second'));
  now = 2_000;
  expect(told()).toMatchObject({
    lastSuccessAtMs: 1_000_500,
    failure: { count: 2, lastAtMs: 1_000_800, cause: 'second' },
  });
  listing.succeeded();
  expect(told()).toMatchObject({ lastSuccessAtMs: 1_002_000, failure: null });
  expect(loops.all()[1]!.job).toBe('provisioner/rack');
});

test('counts database-driven tasks as loops and passes failures to the caller', async () => {
  const loops = createLoops(systemClock, () => 0);
  const around = { clock: systemClock, random: systemRandom };
  const mem = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const periods = { sessionMs: 1, readMs: 2, assessMs: 3, sweepMs: 4 };
  const bmdb = loopingBmdb(mem, loops, periods);
  const standing = () =>
    loops.all().map(({ name, periodMs, lastSuccessAtMs, failure }) => {
      const how = failure ? failure.count : lastSuccessAtMs !== null;
      return [name, periodMs, how];
    });
  const session = await bmdb.openSession({
    ...{ component: 'shepherd', runtimeInfo: 'host x', intervalMs: 60_000 },
  });
  const { cursor } = await bmdb.scan(SIGNAL);
  await bmdb.guard.assess({ ingestUp: true });
  await bmdb.sweep();
  expect(standing()).toEqual([
    ['session', 1, true],
    ['rows', 2, true],
    ['guard', 3, true],
    ['sweep', 4, true],
  ]);
  mem.tables.reachable = false;
  const failing = [
    ...[session.poke(), bmdb.changesSince(cursor!, SIGNAL), bmdb.scan(SIGNAL)],
    ...[bmdb.guard.assess({ ingestUp: true }), bmdb.sweep()],
  ];
  const ends = await Promise.allSettled(failing);
  expect(ends.map(({ status }) => status)).toEqual(failing.map(() => 'rejected'));
  expect(standing().map(([, , how]) => how)).toEqual([1, 2, 1, 1]);
});
