import { beforeEach, describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { ProviderError, WorkConflict } from '../../../src/domain/errors.ts';
import { IDLE_TAG, WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { HOUR_MS } from '../../support/provision-parts.ts';
import { createProvisionStand, type ProvisionStand } from '../../support/provision-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

const MINUTE_MS = 60_000;
let stand: ProvisionStand;
beforeEach(() => {
  stand = createProvisionStand();
});
const devices = () => stand.provider.devices();
const witnesses = () => devices().map(({ tags }) => tags[WITNESS_TAG]);

/** The process dies during its creations. */
const dieIn = async (effect: 'hang' | 'loseReply' | 'failAfter', chunkSize = 1) => {
  stand.provider.inject({ operation: 'create', effect, times: chunkSize });
  const life = await stand.life({ limits: { chunkSize } });
  await life.round();
  life.die();
};

describe('an intent of an earlier life', () => {
  test('equinix vector 9: records a device that was made and makes no second one', async () => {
    await dieIn('loseReply');
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['adopted']);
    expect(devices()).toHaveLength(1);
    expect(stand.machines()[0]!.provided!.providerId).toBe(devices()[0]!.id);
    expect(stand.machines()[0]!.machineId).toBe(
      stand.bmdb.tables.intents.values().next().value!.machineId,
    );
    await two.step('resolveIntents');
    expect(stand.machines()).toHaveLength(1);
  });

  test('is found by the next holder of the job before the mirror has read it', async () => {
    await dieIn('loseReply');
    const two = await stand.life({ limits: { chunkSize: 1 } });
    const { mirror } = two.parts.provision;
    const { readFleet } = mirror;
    let reads = 0;
    Object.assign(mirror, {
      intents: () => [],
      readFleet: (signal: AbortSignal) => {
        reads += 1;
        return readFleet(signal);
      },
    });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['adopted']);
    await two.steps('takeLease', 'resolveIntents');
    expect(reads, 'once for each job').toBe(1);
  });

  test('equinix vector 10: is resumed with its creation key when nothing was requested', async () => {
    await dieIn('hang');
    const witness = stand.intents()[0]!.witness;
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.round();
    expect(stand.states()).toEqual(['adopted']);
    expect(witnesses()).toEqual([witness]);
  });

  test('is resumed as a request that may have reached the provider', async () => {
    stand = createProvisionStand({ reservations: 1 });
    const resumed: unknown[] = [];
    const vague: FleetProvider = {
      ...stand.provider,
      createMachine: async (request) => {
        resumed.push(request.resumed);
        await request.onAttempt?.({ attempts: 1, ambiguous: false });
        throw new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' });
      },
    };
    const one = await stand.life({ provider: vague, limits: { chunkSize: 1 } });
    await one.round();
    await one.round();
    expect(resumed).toEqual([false, true]);
    expect(stand.bmdb.tables.intents.values().next().value).toMatchObject({
      state: 'unresolved',
      attempts: 2,
      emptySinceMs: null,
    });
  });

  test('does not record a device that another owner tagged, and delays nothing', async () => {
    await dieIn('failAfter', 2);
    stand.provider.setOwner(devices()[0]!.id!, 'somebody else');
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states().toSorted()).toEqual(['adopted', 'failed']);
    expect(stand.machines().map(({ provided }) => provided?.providerId)).toEqual([
      devices()[1]!.id,
    ]);
  });

  test('is left to its session while that lives', async () => {
    stand.provider.inject({ operation: 'create', effect: 'loseReply' });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.round();
    await one.parts.leases.releaseAll();
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['unresolved']);
  });

  test('does not keep others open when it is contradictory', async () => {
    await dieIn('failAfter', 2);
    const two = await stand.life();
    const { intents } = two.keeper.require();
    const { adopt } = intents;
    let refused = 0;
    Object.assign(intents, {
      adopt: async (...args: Parameters<typeof adopt>) => {
        refused += 1;
        if (refused === 1) throw new WorkConflict('the device belongs to another machine');
        return adopt(...args);
      },
    });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states().toSorted()).toEqual(['adopted', 'unresolved']);
    expect(stand.log.count('the result of an unfinished creation is unknown for now')).toBe(1);
  });

  test('stays open when a search fails or hangs', async () => {
    await dieIn('failAfter', 2);
    stand.provider.inject({ operation: 'find', effect: 'failBefore' });
    stand.provider.inject({ operation: 'find', effect: 'hang' });
    const two = await stand.life();
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['unresolved', 'unresolved']);
    expect(devices()).toHaveLength(2);
  });

  test('is not resolved beside a running creation of this process', async () => {
    let go!: () => void;
    const held = new Promise<void>((resolve) => (go = resolve));
    const slow: FleetProvider = {
      ...stand.provider,
      createMachine: async (request, options) => {
        await request.onAttempt?.({ attempts: 1, ambiguous: false });
        await held;
        return stand.provider.createMachine(request, options);
      },
    };
    const one = await stand.life({ provider: slow, limits: { chunkSize: 1 } });
    await one.round();
    await one.step('resolveIntents');
    expect(stand.states()).toEqual(['open']);
    go();
    await settled();
    expect(stand.states()).toEqual(['adopted']);
    expect(devices()).toHaveLength(1);
  });
});

describe('a creation without result', () => {
  /** Its slot is gone, so nobody continues it; the provider was asked this often before. */
  const withoutSlot = async (attempts = 1) => {
    await dieIn('hang');
    const [witness, intent] = [...stand.bmdb.tables.intents][0]!;
    stand.bmdb.tables.intents.set(witness, { ...intent, attempts });
    const { slotId } = intent;
    stand.provider.remove(stand.provider.snatch(slotId), { withReservation: true });
    return stand.life({ limits: { machinesMax: 1 } });
  };

  test('is abandoned after an hour of complete listings, with a cooldown of its slot', async () => {
    const two = await withoutSlot();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await two.round();
      expect(stand.states(), `after ${minutes} min`).toEqual(['open']);
      await advance(stand.clock, MINUTE_MS);
    }
    const capacity = Object.fromEntries(stand.metrics.series('shepherd_provider_capacity'));
    expect(capacity).toMatchObject({ 'stub used': 0, 'stub managed': 1, 'stub bmdb': 0 });
    await two.round();
    expect(stand.states()[0]).toEqual('abandoned');
    expect(stand.bmdb.tables.penalties.size).toBe(1);
    expect(
      stand.metrics.total('shepherd_provision_outcomes_total', {
        provider: 'stub',
        outcome: 'abandoned',
      }),
    ).toBe(1);
  });

  test('is dropped at once, without a cooldown, when it was never requested', async () => {
    const two = await withoutSlot(0);
    await two.round();
    expect(stand.states()[0]).toEqual('abandoned');
    expect(stand.bmdb.tables.penalties.size).toBe(0);
    expect(devices()).toHaveLength(0);
  });

  test('is not abandoned where a listing with gaps breaks the hour', async () => {
    const two = await withoutSlot();
    await two.round();
    await advance(stand.clock, HOUR_MS - MINUTE_MS);
    stand.provider.inject({ operation: 'list', effect: 'incomplete' });
    await two.round();
    await advance(stand.clock, MINUTE_MS);
    await two.round();
    expect(stand.states(), 'the hour begins anew').toEqual(['open']);
    await advance(stand.clock, HOUR_MS);
    await two.round();
    expect(stand.states()).toEqual(['abandoned']);
  });

  test('provider vector 5: records a device that appears three listings later', async () => {
    stand.provider.inject({ fault: 'list-lag', operation: 'list', amount: 3, times: 3 });
    await dieIn('failAfter');
    const two = await stand.life({
      limits: { machinesMax: 1 },
      provider: { ...stand.provider, findByWitness: async () => null },
    });
    for (let at = 0; at < 5 && stand.machines().length === 0; at += 1) {
      await two.round();
      await advance(stand.clock, MINUTE_MS);
    }
    expect(stand.states()).toEqual(['adopted']);
    expect(stand.machines()).toMatchObject([{ provided: { providerId: devices()[0]!.id } }]);
    expect(devices()).toHaveLength(1);
  });

  test('records a device that only the last search shows', async () => {
    await dieIn('failAfter');
    const { findByWitness } = stand.provider;
    let isShown = false;
    const blind: FleetProvider = {
      ...stand.provider,
      listMachines: async (call) => {
        const { machines } = await stand.provider.listMachines(call);
        return { machines: machines.filter(({ tags }) => !tags[WITNESS_TAG]), complete: true };
      },
      findByWitness: async (...args) => (isShown ? findByWitness(...args) : null),
    };
    const two = await stand.life({ provider: blind, limits: { machinesMax: 1 } });
    await two.round();
    await advance(stand.clock, HOUR_MS);
    await two.steps('takeLease', 'resolveIntents', 'listBoth', 'planRound');
    isShown = true;
    const { id } = devices()[0]!;
    await stand.provider.setTags(id!, { [IDLE_TAG]: 'drain' }, { signal: AbortSignal.any([]) });
    await two.step('recordFindings');
    expect(stand.states()).toEqual(['adopted']);
    expect(stand.machines()).toMatchObject([{ provided: { providerId: id } }]);
    expect(stand.bmdb.tables.holds, 'B2: with what its tags tell of').toMatchObject([
      { kind: 'no-start', setBy: 'shepherd' },
    ]);
    expect(stand.log.count('a finding could not be recorded')).toBe(0);
  });

  test('respects a rate limit of searches', async () => {
    await dieIn('failAfter');
    let searches = 0;
    const limited: FleetProvider = {
      ...stand.provider,
      findByWitness: async () => {
        searches += 1;
        const retryAt = new Date(stand.clock.now() + 120_000);
        throw new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
      },
    };
    const two = await stand.life({ provider: limited });
    await two.steps('takeLease', 'resolveIntents', 'resolveIntents');
    expect(searches).toBe(1);
    const holds = [...stand.bmdb.tables.providerHolds.values()];
    expect(holds.map(({ key }) => key)).toContain('get');
  });

  test('starts the hour again after a new request', async () => {
    stand = createProvisionStand({ reservations: 1 });
    await dieIn('hang');
    const vague: FleetProvider = {
      ...stand.provider,
      createMachine: async (request) => {
        await request.onAttempt?.({ attempts: 1, ambiguous: true });
        throw new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' });
      },
    };
    const two = await stand.life({ provider: vague, limits: { chunkSize: 1 } });
    await two.round();
    const empty = () => stand.bmdb.tables.intents.values().next().value!.emptySinceMs;
    expect(empty()).toBeNull();
    for (let at = 0; at < 6; at += 1) await two.round();
    expect(empty(), 'after enough requests it is only looked for').not.toBeNull();
    await advance(stand.clock, HOUR_MS);
    await two.round();
    expect(stand.states()[0]).toBe('abandoned');
  });
});
