import { expect, test } from 'vitest';
import { sightsOf } from '../../../src/domain/balancing/sights.ts';
import type { Observed } from '../../../src/domain/balancing/objects.ts';
import { M1, pool, M2, M3 } from './pool.ts';
import { isAccepted } from '../../../src/domain/balancing/pool-row.ts';
import { resyncMs, retryMs, waitMs } from '../../../src/domain/balancing/waiting.ts';

const server = (port: string, change: Partial<Observed> = {}): Observed => ({
  ref: { kind: 'server', id: port },
  spec: { kind: 'server', name: `${M1}.${port}.api.eu`, address: '10.0.0.1', number: 1 },
  parentId: null,
  phase: 'ready',
  tagged: true,
  ...change,
});

test.each([
  ['ready and told nothing of', {}, 1],
  ['up', { server: { mode: 'active', health: 'up' } }, 1],
  ['not checked yet', { server: { mode: 'active', health: 'unknown' } }, 1],
  ['down', { server: { mode: 'active', health: 'down' } }, 0],
  ['draining', { server: { mode: 'drain', health: 'up' } }, 0],
  ['failed', { phase: 'failed' }, 0],
  ['not ready', { phase: 'progressing' }, 0],
] as const)('judges a server that is %s', (_, change, open) => {
  const seen = sightsOf(pool(), [server('http', change), server('https')]);
  expect(seen.get(M1)?.open).toBe(open + 1);
});

const AT = 1_700_000_000_000;
const frozen = { atMs: AT, reason: 'two would go', snapshot: `${M1} ${M2}` };
const accepted = { atMs: AT + 60_000, by: 'ann' };

test.each([
  ['those that the operator saw', [M1, M2], 61_000, true],
  ['some of them', [M2], 61_000, true],
  ['one that the operator did not see', [M1, M2, M3], 61_000, false],
  ['those of a day ago', [M1, M2], 86_400_000, false],
] as const)('accepts at a thaw %s: %j after %i ms: %s', (_, going, afterMs, may) => {
  expect(isAccepted({ frozen, accepted }, going, AT + afterMs)).toBe(may);
});

test('accepts nothing when nothing is frozen or nobody accepted', () => {
  expect(isAccepted({ frozen: null, accepted: null }, [M1], AT)).toBe(false);
  expect(isAccepted({ frozen, accepted: null }, [M1], AT)).toBe(false);
});

test('vector 25: waits 1, 1.5, 2.25 … seconds times 1 to 2.5, and at most 300 s', () => {
  expect([1, 2, 3].map((looks) => waitMs(looks, 0))).toEqual([1_000, 1_500, 2_250]);
  expect([1, 2, 3].map((looks) => waitMs(looks, 1))).toEqual([2_500, 3_750, 5_625]);
  expect(waitMs(15, 0)).toBeCloseTo(291_929, 0);
  expect([16, 30, 1_000].map((looks) => waitMs(looks, 0))).toEqual([300_000, 300_000, 300_000]);
});

test('tries a failed pool again after 5, 10, 20 … seconds, at most 5 minutes', () => {
  expect([1, 2, 3, 4].map((failures) => retryMs(failures, null))).toEqual([
    5_000, 10_000, 20_000, 40_000,
  ]);
  expect(retryMs(7, null)).toBe(300_000);
  expect(retryMs(1_000, null)).toBe(300_000);
});

test('does not ask a balancer before the time that it asked for', () => {
  expect(retryMs(1, 90_000)).toBe(90_000);
  expect(retryMs(3, 1_000)).toBe(20_000);
});

test('looks at a settled pool every 5 minutes, plus or minus a fifth', () => {
  expect([resyncMs(0), resyncMs(0.5), resyncMs(1)]).toEqual([240_000, 300_000, 360_000]);
});
