import fc from 'fast-check';
import { expect, test } from 'vitest';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import {
  createFaults,
  type FaultRule,
  type Occasion,
} from '../../../../src/adapters/provider/stub/faults.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { createStubStand, errorOf } from './stand.ts';

const faultsOf = (rules: readonly FaultRule[], seed = 1) => {
  const faults = createFaults({ seed, log: recordingLog(), metrics: silentMetrics });
  for (const rule of rules) faults.add(rule);
  return faults;
};
const call = (index: number, operation: Occasion['operation'] = 'create'): Occasion => ({
  operation,
  call: index,
});
/** Which of the first calls a rule strikes. */
const struck = (rule: FaultRule, calls = 10, seed = 1) => {
  const faults = faultsOf([rule], seed);
  const indexes = Array.from({ length: calls }, (_, at) => at + 1);
  return indexes.filter((index) => faults.strike(call(index), rule.fault) !== null);
};

test.each<[string, Partial<FaultRule>, number[]]>([
  ['all of them', {}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ['those that are named', { calls: [2, 5] }, [2, 5]],
  ['those from one on', { from: 9 }, [9, 10]],
  ['so many', { times: 3 }, [1, 2, 3]],
  ['so many from one on', { from: 4, times: 2 }, [4, 5]],
  ['those of its operation', { operation: 'list' }, []],
  ['those of its device', { device: 'x' }, []],
  ['none, without any chance', { chance: 0 }, []],
])('a rule strikes %s', (_, change, expected) => {
  expect(struck({ fault: 'call-fails', ...change })).toEqual(expected);
});

test('the first rule that fits strikes, and is used up before the next', () => {
  const faults = faultsOf([
    { fault: 'unauthorized', times: 1 },
    { fault: 'forbidden', times: 1 },
  ]);
  const next = (index: number) => faults.strike(call(index), 'forbidden', 'unauthorized')?.fault;
  expect([next(1), next(2), next(3)]).toEqual(['unauthorized', 'forbidden', undefined]);
});

test('a chance is kept, and follows from the seed', () => {
  const rule = { fault: 'call-fails', chance: 0.2 } as const;
  const some = struck(rule, 2_000);
  expect(some.length).toBeGreaterThan(300);
  expect(some.length).toBeLessThan(500);
  expect(struck(rule, 2_000)).toEqual(some);
  expect(struck(rule, 2_000, 2)).not.toEqual(some);
});

test('a chance does not depend on the order of calls', () => {
  const rules = [{ fault: 'call-fails', chance: 0.5 }] as const;
  const indexes = Array.from({ length: 20 }, (_, at) => at + 1);
  const outcomes = (order: readonly number[]) => {
    const faults = faultsOf(rules);
    const hits = order.filter((index) => faults.strike(call(index), 'call-fails') !== null);
    return hits.toSorted((a, b) => a - b);
  };
  const expected = outcomes(indexes);
  fc.assert(
    fc.property(fc.shuffledSubarray(indexes, { minLength: 20 }), (order) => {
      expect(outcomes(order)).toEqual(expected);
    }),
  );
});

test('what sticks to a device stays, and counts once for it', () => {
  const faults = faultsOf([{ fault: 'address-absent', times: 2 }]);
  const on = (device: string) =>
    faults.sticks('address-absent', { operation: 'device', call: 1, device }) !== null;
  expect([on('a'), on('b'), on('c')]).toEqual([true, true, false]);
  expect([on('c'), on('a'), on('b')]).toEqual([false, true, true]);
  expect(faults.count('address-absent')).toBe(2);
});

test('rules can be taken away; what was used stays known', () => {
  const faults = faultsOf([{ fault: 'call-fails' }, { fault: 'conflict' }]);
  faults.strike(call(1), 'call-fails');
  faults.clear('call-fails');
  expect([faults.known('call-fails'), faults.known('conflict')]).toEqual([false, true]);
  expect(faults.strike(call(2), 'call-fails')).toBeNull();
  expect(faults.used()).toEqual([{ fault: 'call-fails', operation: 'create', call: 1, amount: 0 }]);
  faults.clear();
  expect(faults.known('conflict')).toBe(false);
});

const MIX: readonly FaultRule[] = [
  { fault: 'call-fails', chance: 0.1 },
  { fault: 'reply-lost', operation: 'create', chance: 0.2 },
  { fault: 'rate-limit', operation: 'list', chance: 0.2 },
  { fault: 'failed-at-boot', chance: 0.2 },
  { fault: 'address-absent', chance: 0.3 },
  { fault: 'reordering', chance: 0.5 },
  { fault: 'duplicates', chance: 0.3 },
  { fault: 'tags-stale', chance: 0.5 },
  { fault: 'destroy-listed', chance: 0.5 },
];

/** Everything that a run shows, does and logs. */
async function run(seed: number): Promise<unknown[]> {
  const stand = createStubStand(MIX, {
    seed,
    plans: [{ name: 'c3', location: 'm1', spot: false, reservations: 12 }],
  });
  const seen: unknown[] = [];
  const note = async (asked: Promise<unknown>) => {
    seen.push(await asked.catch((error: { code: string; message: string }) => error.message));
  };
  for (let round = 1; round <= 8; round += 1) {
    await note(stand.create({ witness: `witness-${round}` }));
    await note(stand.list());
    stand.clock.increment(60_000);
    for (const { id } of stand.account.world.devices()) await note(stand.get(id));
    const [first] = stand.account.world.devices();
    if (first) await note(stand.provider.setTags(first.id, { 'shepherd-x': 'y' }, stand.call()));
    if (first && round % 3 === 0) {
      await note(stand.provider.deprovisionMachine(first.id, stand.call()));
    }
  }
  const log = stand.log.lines;
  await stand.close();
  return [seen, log];
}

test('the same seed and the same calls are the same run, to the last line of the log', async () => {
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
  expect((first[1] as unknown[]).length).toBeGreaterThan(10);
});

test('a log of the stub never shows a secret', async () => {
  const stand = createStubStand([{ fault: 'slow' }, { fault: 'reply-lost', operation: 'create' }]);
  const ended = errorOf(stand.create());
  stand.clock.increment(60_000);
  const error = await ended;
  const [device] = stand.account.world.devices();
  const secret = /printf %s (\S+)/.exec(device!.installation.initCommand)![1]!;
  expect(JSON.stringify(stand.log.lines) + error.message).not.toContain(secret);
  await stand.close();
});
