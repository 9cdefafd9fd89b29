import type { GaugeName } from '../../../src/adapters/metrics/port.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { ProviderError, Unreachable } from '../../../src/domain/errors.ts';
import { IDLE_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { sleep } from '../../../src/adapters/clock/port.ts';
import { PROVIDER, provided } from '../../support/facts.ts';
import { createProvisionStand } from '../../support/provision-stand.ts';
import type { ProvisionLife, ProvisionStand } from '../../support/provision-stand.ts';
import { advance } from '../../doubles/simulated-clock.ts';

const MINUTE_MS = 60_000;
let stand: ProvisionStand;
beforeEach(() => {
  stand = createProvisionStand({ reservations: 8 });
});

/** A daemon with this many machines that creates no more. */
async function settledFleet(count: number, change: Parameters<ProvisionStand['life']>[0] = {}) {
  const one = await stand.life({ ...change, limits: { chunkSize: count, machinesMax: count } });
  await one.round();
  expect(stand.machines()).toHaveLength(count);
  await advance(stand.clock, MINUTE_MS);
  return one;
}
const row = () => stand.machines()[0]!;
const rounds = async (life: ProvisionLife, count: number, gapMs = MINUTE_MS) => {
  for (let at = 0; at < count; at += 1) {
    await life.round();
    await advance(stand.clock, gapMs);
  }
};

const figures = (name: GaugeName) => Object.fromEntries(stand.metrics.series(name));

describe('a machine that is not listed', () => {
  test('provider vector 12: stays when a page of the listing failed', async () => {
    const one = await settledFleet(1);
    stand.provider.inject({ fault: 'page-fails', operation: 'list' });
    await one.step('takeLease');
    await expect(one.step('listBoth')).rejects.toBeInstanceOf(ProviderError);
    expect(row()).toMatchObject({ missing: null });
  });

  test('provider vector 13: stays unchanged when it is missing once', async () => {
    const one = await settledFleet(1);
    const before = row();
    stand.provider.inject({ fault: 'disappears', operation: 'list', times: 1 });
    await one.round();
    expect(row().missing).toMatchObject({ seen: 1 });
    await one.round();
    expect(row()).toEqual(before);
    expect(stand.provider.devices()).toHaveLength(1);
  });

  test('equinix vector 24: never becomes Missing by listings with gaps', async () => {
    const one = await settledFleet(1);
    stand.provider.inject({ operation: 'list', effect: 'incomplete', times: 30 });
    await rounds(one, 30);
    expect(row()).toMatchObject({ missing: null });
  });

  test('provider vector 14: becomes Missing after three complete listings over 15 min and a not-found', async () => {
    const one = await settledFleet(1);
    stand.provider.remove(row().provided!.providerId);
    await rounds(one, 15);
    expect(row().provided!.status).not.toBe('Missing');
    expect(row().missing!.seen).toBe(15);
    await one.round();
    expect(row().provided!.status).toBe('Missing');
    expect(stand.metrics.total('shepherd_instances_disappeared', { state: 'Provisioned' })).toBe(1);
    expect(stand.machines(), 'the record is kept').toHaveLength(1);
    await rounds(one, 2);
    expect(stand.metrics.total('shepherd_instances_disappeared'), 'it is told once').toBe(1);
  });

  test('does not become Missing when a direct look finds it', async () => {
    const one = await settledFleet(1);
    stand.provider.inject({ fault: 'disappears', operation: 'list', times: 16 });
    await rounds(one, 16);
    expect(row()).toMatchObject({ missing: null });
    expect(row().provided!.status).not.toBe('Missing');
  });

  test('does not become Missing when the direct look fails', async () => {
    const one = await settledFleet(1);
    stand.provider.remove(row().provided!.providerId);
    stand.provider.inject({ operation: 'get', effect: 'failBefore' });
    await rounds(one, 16);
    expect(row().provided!.status).not.toBe('Missing');
    await one.round();
    expect(row().provided!.status).toBe('Missing');
  });

  test('is no longer Missing when it comes back', async () => {
    const one = await settledFleet(1);
    const { machineId } = row();
    await one.keeper.require().updateProvided(machineId, { absent: true, status: 'Missing' });
    await one.round();
    expect(row()).toMatchObject({ missing: null, provided: { status: 'Running' } });
    expect(stand.log.count('a missing machine is back')).toBe(1);
  });

  test('marks nothing and creates nothing when the whole listing vanishes', async () => {
    const one = await settledFleet(2);
    stand.provider.inject({ fault: 'vanish-all', operation: 'list', times: 20 });
    await rounds(one, 20);
    expect(stand.machines().map(({ missing }) => missing)).toEqual([null, null]);
    expect(stand.log.count('the listing is not trusted: nothing is created or marked')).toBe(1);
    await one.round();
    expect(stand.log.count('the listing is trusted again')).toBe(1);
    const told = stand.bmdb.tables.told.filter(({ type }) => type.startsWith('provider.breaker'));
    expect(told.map(({ type, provider }) => [type, provider])).toEqual([
      ['provider.breaker_opened', PROVIDER],
      ['provider.breaker_closed', PROVIDER],
    ]);
  });

  /** A machine whose device no listing shows. */
  const adoptUnlisted = async (life: ProvisionLife) => {
    const { intents } = life.keeper.require();
    const hostname = 'x';
    const { witness } = await intents.open({ provider: PROVIDER, slotId: 'afar', hostname });
    const device = { ...provided(), providerId: 'device-afar', reservationId: 'afar' };
    return intents.adopt(witness, device);
  };
  const unlisted = () =>
    stand.machines().find(({ provided: device }) => device?.providerId === 'device-afar')!;

  test('is not absent when it was recorded during the read of the rows', async () => {
    const one = await settledFleet(2);
    const { mirror } = one.parts.provision;
    let isSlow = false;
    Object.assign(one.parts.provision, {
      mirror: {
        ...mirror,
        readFleet: async (signal: AbortSignal) => {
          if (isSlow) {
            await sleep(stand.clock, 5_000, signal);
            await adoptUnlisted(one);
            await sleep(stand.clock, 5_000, signal);
          }
          return mirror.readFleet(signal);
        },
      },
    });
    await one.step('takeLease');
    isSlow = true;
    await one.steps('listBoth', 'planRound', 'recordFindings');
    expect(unlisted().missing).toBeNull();
  });

  test('is not absent when it was recorded after the begin of a reused listing', async () => {
    const one = await settledFleet(2);
    const { listings } = one.parts;
    const once = await listings.list(PROVIDER, new AbortController().signal);
    Object.assign(listings, { list: async () => once });
    await advance(stand.clock, 10_000);
    await adoptUnlisted(one);
    await advance(stand.clock, 10_000);
    await one.round();
    expect(unlisted().missing).toBeNull();
  });

  test('is not absent for five minutes where listings lag', async () => {
    const capabilities = { ...stand.provider.capabilities, consistentList: false };
    const one = await settledFleet(2, { provider: { ...stand.provider, capabilities } });
    await adoptUnlisted(one);
    await advance(stand.clock, 4 * MINUTE_MS);
    await one.round();
    expect(unlisted().missing).toBeNull();
    await advance(stand.clock, 2 * MINUTE_MS);
    await one.round();
    expect(unlisted().missing).toMatchObject({ seen: 1 });
  });

  test('is gone when a direct look says so', async () => {
    let isGone = false;
    const { getMachine } = stand.provider;
    const one = await settledFleet(1, {
      provider: {
        ...stand.provider,
        getMachine: async (...args) => ({
          ...(await getMachine(...args)),
          ...(isGone && { status: 'Missing' as const }),
        }),
      },
    });
    isGone = true;
    stand.provider.inject({ fault: 'disappears', operation: 'list', times: 16 });
    await rounds(one, 16);
    expect(row().provided!.status).toBe('Missing');
  });

  test('is observed once by a listing that answers twice', async () => {
    const one = await settledFleet(1);
    stand.provider.remove(row().provided!.providerId);
    const { listings } = one.parts;
    const once = await listings.list(PROVIDER, new AbortController().signal);
    Object.assign(listings, { list: async () => once });
    await one.round();
    await one.round();
    expect(row().missing!.seen).toBe(1);
  });
});

describe('a device that nothing refers to', () => {
  /** A device of ours without a row, because its machine was deleted. */
  const orphaned = async (assimilate: boolean) => {
    const one = await settledFleet(1, { assimilate });
    stand.bmdb.tables.machines.clear();
    stand.bmdb.tables.intents.clear();
    return one;
  };

  test('is reported once, counted and left alone', async () => {
    const one = await orphaned(false);
    await rounds(one, 4);
    expect(stand.log.count('a device has our name, and no record refers to it')).toBe(1);
    expect(stand.machines()).toEqual([]);
    expect(figures('shepherd_provider_discrepancies')).toMatchObject({ 'stub orphan': 1 });
    expect(figures('shepherd_provider_capacity')).toMatchObject({ 'stub managed': 1 });
  });

  test('is taken over, if configured, the second time it is seen', async () => {
    const one = await orphaned(true);
    await one.round();
    expect(stand.machines()).toEqual([]);
    await one.round();
    expect(stand.machines()).toMatchObject([
      { provided: { providerId: stand.provider.devices()[0]!.id } },
    ]);
    expect(stand.states()).toEqual(['adopted']);
  });

  describe('gets the holds of its tags when taken over', () => {
    const live = () => ({ signal: new AbortController().signal });
    const takenOver = async (behaviour: string) => {
      const one = await orphaned(true);
      const { id } = stand.provider.devices()[0]!;
      await stand.provider.setTags(id!, { [IDLE_TAG]: behaviour }, live());
      return one;
    };
    const kinds = () => stand.bmdb.tables.holds.map(({ kind }) => kind).toSorted();

    test.each([
      ['hold', ['no-recover', 'preserve']],
      ['drain', ['no-start']],
      ['run', []],
      ['nonsense', []],
    ])('%s', async (behaviour, expected) => {
      const one = await takenOver(behaviour);
      await rounds(one, 2);
      expect(stand.machines()).toHaveLength(1);
      expect(kinds()).toEqual(expected);
      for (const { setBy, reason } of stand.bmdb.tables.holds) {
        expect([setBy, reason]).toEqual([
          'shepherd',
          `its device was tagged ${behaviour} when it was adopted`,
        ]);
      }
    });

    test('gets them before work can start, or is not taken over', async () => {
      const one = await takenOver('hold');
      const { submit } = stand.bmdb.requests;
      let failures = 1;
      Object.assign(stand.bmdb.requests, {
        submit: async (...args: Parameters<typeof submit>) => {
          if (failures-- > 0) throw new Unreachable('no database');
          return submit(...args);
        },
      });
      await rounds(one, 2);
      expect(stand.machines()).toEqual([]);
      await rounds(one, 2);
      expect(stand.machines()).toHaveLength(1);
      expect(kinds()).toEqual(['no-recover', 'preserve']);
    });
  });

  test.each(['not-done', 'unknown'] as const)(
    'is taken over next time after a failure (%s)',
    async (outcome) => {
      const { assimilate } = stand.provider;
      let failures = 1;
      const one = await settledFleet(1, {
        assimilate: true,
        provider: {
          ...stand.provider,
          assimilate: async (...args) => {
            if (failures-- > 0) throw new ProviderError('transient', 'not now', { outcome });
            return assimilate(...args);
          },
        },
      });
      stand.bmdb.tables.machines.clear();
      stand.bmdb.tables.intents.clear();
      await one.round();
      await one.round();
      expect(stand.machines()).toEqual([]);
      expect(stand.states()).toEqual([outcome === 'not-done' ? 'failed' : 'open']);
      await one.round();
      await one.round();
      expect(stand.machines()).toHaveLength(1);
      expect(stand.bmdb.tables.penalties.size).toBe(0);
    },
  );

  test('provider vector 15: is reported once and never touched when it is a stranger’s', async () => {
    const one = await orphaned(true);
    const { id } = stand.provider.devices()[0]!;
    stand.provider.setOwner(id!, 'another-set');
    const before = stand.provider.devices();
    await rounds(one, 3);
    expect(stand.provider.devices().find((each) => each.id === id)).toMatchObject({
      tags: before[0]!.tags,
    });
    expect(stand.log.count('devices of other owners are left alone')).toBe(1);
  });
});

test('provider vector 11: is one machine when it is listed twice', async () => {
  const one = await settledFleet(1);
  stand.provider.inject({ fault: 'duplicates', operation: 'list', times: 3 });
  await rounds(one, 3);
  expect(stand.machines()).toHaveLength(1);
  expect(stand.log.lines.filter(({ fields }) => fields['orphan'] === 1)).toEqual([]);
});

describe('the log line of a round', () => {
  test('has exactly the fields of the summary', async () => {
    const one = await stand.life({ limits: { chunkSize: 2, machinesMax: 3 } });
    await one.round();
    await one.round();
    const lines = stand.log.lines.filter(({ message }) => message === 'provisioner iteration');
    expect(lines.map(({ level }) => level)).toEqual(['info', 'info']);
    expect(lines[1]!.fields).toEqual({
      provider: PROVIDER,
      bmdb: 2,
      used: 2,
      free: 6,
      failed: 0,
      orphan: 0,
      missing: 0,
      penalised: 0,
      managed: 2,
      max: 3,
      created: 1,
      create_failed: 0,
      duration: expect.any(Number) as number,
    });
  });

  test('reports a fleet over its limit once, exports it and gives nothing back', async () => {
    await settledFleet(3);
    const two = await stand.life({ limits: { machinesMax: 2 } });
    stand.bmdb.tables.jobs.clear();
    await rounds(two, 2);
    expect(stand.log.count('there are more machines than the limit; all of them stay')).toBe(1);
    expect(figures('shepherd_provision_over_limit')).toEqual({ stub: 1 });
    const capacity = { 'stub used': 3, 'stub managed': 3, 'stub max': 2 };
    expect(figures('shepherd_provider_capacity')).toMatchObject(capacity);
    expect(stand.machines()).toHaveLength(3);
  });
});

describe('the prerequisites of creations', () => {
  test('are prepared before the first creation and daily', async () => {
    let prepared = 0;
    const counting: FleetProvider = {
      ...stand.provider,
      prepare: async () => {
        prepared += 1;
      },
    };
    const one = await stand.life({ provider: counting, limits: { chunkSize: 1 } });
    await rounds(one, 3);
    expect(prepared).toBe(1);
    await advance(stand.clock, 24 * 60 * MINUTE_MS);
    await one.round();
    expect(prepared).toBe(2);
  });

  test('stop only creations when they fail', async () => {
    const broken: FleetProvider = {
      ...stand.provider,
      prepare: async () => {
        throw new ProviderError('conflict', 'the key label is taken');
      },
    };
    const one = await stand.life({ provider: broken });
    expect(await one.round()).toBe(0);
    expect(stand.log.count('the provider is not ready for creations')).toBe(1);
    expect(stand.log.count('provisioner iteration')).toBe(1);
    expect(stand.intents()).toEqual([]);
  });
});
