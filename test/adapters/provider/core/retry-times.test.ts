import { expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { facetsOf } from '../../../../src/domain/provisioning/provider-facets.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { fleetOf, live, scripted } from '../../../doubles/scripted-driver.ts';

const limited = (retryAt: unknown, cause?: unknown) =>
  new ProviderError('transient', '429', { cause, rateLimit: { retryAt: retryAt as Date } });

test.each<[string, unknown, number]>([
  ['an Invalid Date', new Date('soon'), 20],
  ['a text', '2025-11-01', 20],
  ['nothing', undefined, 20],
  ['tomorrow', 86_400, 3_600],
  ['in a minute', 60, 60],
  ['a minute ago', -60, -60],
])('when to ask again, as the core passes it on: %s', async (_, given, seconds) => {
  const clock = createSimulatedClock();
  const retryAt = typeof given === 'number' ? new Date(clock.now() + given * 1_000) : given;
  for (const error of [limited(retryAt), new Error('outer', { cause: limited(retryAt) })]) {
    const { fleet } = fleetOf(scripted({ getMachine: () => Promise.reject(error) }), {}, { clock });
    const rejected: unknown = await fleet.getMachine('a', live).catch((reason: unknown) => reason);
    expect(facetsOf(rejected).retryAtMs).toBe(clock.now() + seconds * 1_000);
  }
});

test('what is no time says nothing of when to ask again', () => {
  for (const retryAt of [new Date('soon'), '2025-11-01', null, 7]) {
    expect(facetsOf(limited(retryAt)).retryAtMs).toBeNull();
    expect(facetsOf(limited(retryAt, limited(new Date(5)))).retryAtMs).toBe(5);
  }
});

test('an outcome that the port does not know is not known', () => {
  const options = { outcome: 'maybe' as 'unknown' };
  expect(facetsOf(new ProviderError('transient', 'x', options)).outcome).toBe('unknown');
});
