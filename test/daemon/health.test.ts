import { expect, test } from 'vitest';
import type { UnlistedHere } from '../../src/actors/listing-health.ts';
import { healthOf, type HealthDeps } from '../../src/daemon/health.ts';
import { PROVIDER } from '../support/facts.ts';
import { createWatchedClock } from '../support/watched-clock.ts';

test('A8: readiness names a provider that cannot be listed, and is not lost for it', async () => {
  let unlisted: readonly UnlistedHere[] = [];
  const clock = createWatchedClock();
  const health = healthOf({
    keeper: { current: () => ({ sessionId: 'one', poke: async () => undefined }) },
    mirror: { lastScanAt: () => clock.monotonic() },
    ...{ clock, scanMs: 60_000, unlisted: () => unlisted },
  } as unknown as HealthDeps);
  expect(Object.keys((await health()).checks)).toEqual(['session', 'database']);
  unlisted = [{ provider: PROVIDER, sinceMs: 0, cause: 'connect ECONNREFUSED' }];
  expect((await health()).checks[`provider ${PROVIDER}`]).toEqual({
    ...{ ok: false, degraded: true },
    detail: 'cannot be listed since 1970-01-01T00:00:00.000Z: connect ECONNREFUSED',
  });
});
