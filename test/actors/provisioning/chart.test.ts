import { beforeEach, describe, expect, test } from 'vitest';
import { ProviderError, WorkConflict } from '../../../src/domain/errors.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createProvisionStand, PERIOD_MS } from '../../support/provision-stand.ts';
import type { ProvisionStand } from '../../support/provision-stand.ts';
import { advance } from '../../doubles/simulated-clock.ts';

let stand: ProvisionStand;
beforeEach(() => {
  stand = createProvisionStand();
});
const listings = () => stand.provider.calls.count('list');

describe('two provisioning daemons', () => {
  test('take turns: when one stops, the other takes over within seconds', async () => {
    const [one, two] = [await stand.life(), await stand.life()];
    const [first, second] = [one.chart(), two.chart()];
    await advance(stand.clock, 10_000);
    expect([first.state(), second.state()]).toEqual(['resting', 'awaitingLease']);
    first.stop();
    await one.parts.leases.releaseAll();
    await advance(stand.clock, 4_000);
    expect(second.state()).not.toBe('awaitingLease');
    await advance(stand.clock, 5 * PERIOD_MS);
    expect(stand.machines()).toHaveLength(6);
    const witnesses = stand.provider.devices().map(({ tags }) => tags[WITNESS_TAG]);
    expect(new Set(witnesses).size).toBe(6);
    second.stop();
  });

  test('equinix vector 12: give a slot to one of ten requesters', async () => {
    const lives = [await stand.life(), await stand.life()];
    const [slotId] = stand.provider.reservationIds();
    const hostname = 'x';
    const asked = Array.from({ length: 10 }, (_, at) =>
      lives[at % 2]!.keeper.require().intents.open({
        provider: PROVIDER,
        slotId: slotId!,
        hostname,
      }),
    );
    const refused = (await Promise.allSettled(asked)).flatMap((end) =>
      end.status === 'rejected' ? [end.reason as unknown] : [],
    );
    expect(refused).toHaveLength(9);
    for (const reason of refused) expect(reason).toBeInstanceOf(WorkConflict);
  });
});

describe('a listing that the provider refuses', () => {
  test('provider vector 6: is not asked again before the retry time', async () => {
    stand.provider.inject({ fault: 'rate-limit', operation: 'list', amount: 300_000, times: 1 });
    const chart = (await stand.life()).chart();
    await advance(stand.clock, 1_000);
    expect(chart.state()).toBe('paused');
    const before = listings();
    await advance(stand.clock, 298_000);
    expect(chart.state()).toBe('paused');
    expect(listings()).toBe(before);
    expect([...stand.bmdb.tables.providerHolds.values()]).toMatchObject([{ key: 'list' }]);
    await advance(stand.clock, 2_000 + PERIOD_MS);
    expect(chart.state()).toBe('resting');
    expect(stand.machines().length).toBeGreaterThan(0);
    expect(stand.bmdb.tables.providerHolds.size, 'a success lifts it').toBe(0);
    chart.stop();
  });

  test('stops searches too while listings are throttled', async () => {
    stand.provider.inject({ operation: 'create', effect: 'loseReply' });
    stand.provider.inject({ operation: 'find', effect: 'failBefore', times: 99 });
    const life = await stand.life({ limits: { chunkSize: 1 } });
    await life.round();
    expect(stand.states()).toEqual(['unresolved']);
    stand.provider.inject({ fault: 'rate-limit', operation: 'list', amount: 600_000, times: 1 });
    const chart = life.chart();
    await advance(stand.clock, 1_000);
    expect(chart.state()).toBe('paused');
    const before = stand.log.count('the result of an unfinished creation is unknown for now');
    await advance(stand.clock, 300_000);
    expect(stand.log.count('the result of an unfinished creation is unknown for now')).toBe(before);
    chart.stop();
  });

  test('resumes within a minute after an operator lifts the hold', async () => {
    stand.provider.inject({ fault: 'rate-limit', operation: 'list', amount: 3_600_000, times: 1 });
    const chart = (await stand.life()).chart();
    await advance(stand.clock, 120_000);
    expect(chart.state()).toBe('paused');
    const before = listings();
    await stand.bmdb.providerHolds.lift(PROVIDER, 'throttle');
    await advance(stand.clock, 60_000 + 10_000);
    expect(listings()).toBeGreaterThan(before);
    chart.stop();
  });

  test('is asked again after a minute when our token was refused', async () => {
    stand.provider.inject({
      operation: 'list',
      effect: 'failBefore',
      error: new ProviderError('auth', 'revoked'),
    });
    const chart = (await stand.life()).chart();
    await advance(stand.clock, 59_000);
    expect(chart.state()).toBe('paused');
    await advance(stand.clock, 7_000);
    expect(chart.state()).toBe('resting');
    chart.stop();
  });
});

test('is aborted with its round when a read of the BMDB fails', async () => {
  stand.provider.inject({ operation: 'list', effect: 'hang' });
  const life = await stand.life();
  const chart = life.chart();
  await advance(stand.clock, 1_000);
  expect(chart.state()).toBe('listing');
  chart.stop();
  const scan = stand.bmdb.scan;
  const { provision } = life.parts;
  let scans = 0;
  let asked: AbortSignal | null = null;
  const { list } = provision.listings;
  Object.assign(provision.listings, {
    list: (name: typeof PROVIDER, signal: AbortSignal) => {
      asked = signal;
      return list(name, signal);
    },
  });
  Object.assign(provision.bmdb, {
    scan: async (signal: AbortSignal) => {
      scans += 1;
      if (scans === 2) throw new ProviderError('transient', 'no database');
      return scan(signal);
    },
  });
  stand.provider.inject({ operation: 'list', effect: 'hang' });
  const again = life.chart();
  await advance(stand.clock, 1_000);
  expect(again.state()).toBe('backingOff');
  expect(asked, 'the listing is not waited for').toMatchObject({ aborted: true });
  again.stop();
  Object.assign(provision.bmdb, { scan });
});
