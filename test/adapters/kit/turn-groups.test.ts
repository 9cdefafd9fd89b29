import { expect, test } from 'vitest';
import { createTurnGroups } from '../../../src/adapters/driver-kit/turns.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const live = new AbortController().signal;
const ONE_AT_A_TIME = { maxConcurrency: 1, gapMs: 0, restMs: 200, bulkLast: true };
const settle = () => new Promise((resolve) => setImmediate(resolve));

function stand(together?: number) {
  const clock = createSimulatedClock();
  const groups = createTurnGroups(
    {
      each: ONE_AT_A_TIME,
      ...(together !== undefined && { together: { maxConcurrency: together, gapMs: 0 } }),
    },
    { clock },
  );
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  function take(key: string, name: string, options: { bulk?: boolean; urgent?: boolean } = {}) {
    void groups.take(key, { signal: live, ...options }).then((end) => {
      begun.push(name);
      ends.set(name, end);
    });
  }
  const end = async (name: string) => {
    ends.get(name)!();
    await settle();
  };
  return { clock, groups, begun, take, end };
}

test('one at a time of each key, with a rest between an end and the next start', async () => {
  const { clock, begun, take, end } = stand();
  take('a', 'a1');
  take('a', 'a2');
  take('b', 'b1');
  await settle();
  expect(begun).toEqual(['a1', 'b1']);
  clock.increment(1_000);
  await end('a1');
  expect(begun, 'it rests').toEqual(['a1', 'b1']);
  clock.increment(200);
  await settle();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
});

test('reads that poll yield to changes, and those to what is urgent', async () => {
  const { clock, begun, take, end } = stand();
  take('a', 'first');
  take('a', 'poll', { bulk: true });
  take('a', 'change');
  take('a', 'urgent', { urgent: true });
  await settle();
  for (const name of ['first', 'urgent', 'change', 'poll']) {
    await end(name);
    clock.increment(200);
    await settle();
  }
  expect(begun).toEqual(['first', 'urgent', 'change', 'poll']);
});

test('who waits for a busy key takes nothing from the others', async () => {
  const { begun, take, end } = stand(2);
  take('a', 'a1');
  take('a', 'a2');
  take('b', 'b1');
  take('c', 'c1');
  await settle();
  expect(begun).toEqual(['a1', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'b1', 'c1']);
});

test('a key is forgotten when nothing of it is remembered', async () => {
  const { clock, groups } = stand();
  for (let n = 0; n < 2_000; n++) (await groups.take(`bmc-${n}`, { signal: live }))();
  expect(groups.size).toBe(2_000);
  groups.pause('bmc-7', 600_000);
  clock.increment(1_000);
  for (let n = 0; n < 2_100; n++) {
    (await groups.take('busy', { signal: live }))();
    clock.increment(200);
  }
  expect(groups.size, 'the busy one and the paused one').toBe(2);
  expect(groups.pausedMs('bmc-7')).toBeGreaterThan(0);
  groups.stop();
  expect(clock.pending).toBe(0);
});
