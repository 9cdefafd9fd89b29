import { beforeEach, expect, test } from 'vitest';
import type { UnlistedHere } from '../../src/actors/providers/listings.ts';
import type { HealthReport } from '../../src/console/port.ts';
import { healthOf, type HealthDeps } from '../../src/daemon/health.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import { PROVIDER } from '../support/facts.ts';
import { createSimulatedClock, settled, type VirtualClock } from '../doubles/simulated-clock.ts';

let clock: VirtualClock;
let scannedAt: number | null;
let session: { sessionId: string; poke: () => Promise<void> } | null;
let pokes: number;
let unlisted: readonly UnlistedHere[];
beforeEach(() => {
  clock = createSimulatedClock();
  scannedAt = clock.monotonic();
  [pokes, unlisted] = [0, []];
  session = { sessionId: 'one', poke: async () => void (pokes += 1) };
});
const healthEach = (scanMs: number): (() => Promise<HealthReport>) =>
  healthOf({
    keeper: { current: () => session },
    mirror: { lastScanAt: () => scannedAt },
    clock,
    scanMs,
    unlisted: () => unlisted,
  } as unknown as HealthDeps);
const checks = async (health = healthEach(60_000)) => (await health()).checks;

test('reports ready with a session, fresh rows and a database that answers', async () => {
  clock.increment(1_400);
  expect(await checks()).toEqual({
    session: { ok: true, detail: 'session one is alive' },
    database: { ok: true, detail: 'last scan 1 s ago' },
  });
});

test('reports not ready before the first read of the database, though the database answers', async () => {
  scannedAt = null;
  expect((await checks())['database']).toEqual({ ok: false, detail: 'never scanned' });
});

test.each([
  ['a minute: three of them', 60_000, 180_000],
  ['a second: ten seconds', 1_000, 10_000],
])('reports stale rows when scans fail; with a period of %s', async (_, scanMs, limitMs) => {
  clock.increment(limitMs - 1);
  expect((await checks(healthEach(scanMs)))['database']!.ok).toBe(true);
  clock.increment(1);
  expect((await checks(healthEach(scanMs)))['database']).toEqual({
    ok: false,
    detail: `last scan ${limitMs / 1_000} s ago`,
  });
});

test('reports not ready without a session', async () => {
  session = null;
  expect(await checks()).toEqual({
    session: { ok: false, detail: 'no live session' },
    database: { ok: true, detail: 'last scan 0 s ago' },
  });
});

test('asks the database at most once a second, one query at a time', async () => {
  const health = healthEach(60_000);
  const { promise, reject } = Promise.withResolvers<void>();
  session!.poke = () => {
    pokes += 1;
    return promise;
  };
  const both = [checks(health), checks(health)];
  clock.increment(5_000);
  both.push(checks(health));
  await settled();
  expect(pokes).toBe(1);
  reject(new Unreachable('no answer'));
  for (const each of await Promise.all(both)) {
    expect(each['database']).toMatchObject({ ok: false });
    expect(each['database']!.detail).toMatch(/last scan \d s ago; no answer/);
  }
  session!.poke = async () => void (pokes += 1);
  clock.increment(999);
  expect((await checks(health))['database']!.ok).toBe(false);
  clock.increment(1);
  expect((await checks(health))['database']!.ok).toBe(true);
  expect(pokes).toBe(2);
});

test('A8: names a provider that cannot be listed, and stays ready', async () => {
  expect(Object.keys(await checks())).toEqual(['session', 'database']);
  unlisted = [{ provider: PROVIDER, sinceMs: 0, cause: 'connect ECONNREFUSED' }];
  expect((await checks())[`provider ${PROVIDER}`]).toEqual({
    ok: false,
    degraded: true,
    detail: 'cannot be listed since 1970-01-01T00:00:00.000Z: connect ECONNREFUSED',
  });
});
