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

/** The process dies in the middle of its creations. */
const dieIn = async (effect: 'hang' | 'loseReply' | 'failAfter', chunkSize = 1) => {
  stand.provider.inject({ operation: 'create', effect, times: chunkSize });
  const life = await stand.life({ limits: { chunkSize } });
  await life.round();
  life.die();
};

describe('what an earlier life left open', () => {
  test('equinix vector 9: a device that was made is recorded, and no second one is made', async () => {
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

  test('is found by whoever gets the job, though the mirror has not read it yet', async () => {
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

  test('equinix vector 10: one that was never asked for is taken up with its witness', async () => {
    await dieIn('hang');
    const witness = stand.intents()[0]!.witness;
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.round();
    expect(stand.states()).toEqual(['adopted']);
    expect(witnesses()).toEqual([witness]);
  });

  test('an attempt that may have reached the provider is taken up as such', async () => {
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

  test('a device that another owner tagged is not recorded, and keeps nobody else waiting', async () => {
    await dieIn('failAfter', 2);
    stand.provider.setOwner(devices()[0]!.id!, 'somebody else');
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states().toSorted()).toEqual(['adopted', 'failed']);
    expect(stand.machines().map(({ provided }) => provided?.providerId)).toEqual([
      devices()[1]!.id,
    ]);
  });

  test('while its session lives, an intent is left to it', async () => {
    stand.provider.inject({ operation: 'create', effect: 'loseReply' });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.round();
    await one.parts.leases.releaseAll();
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['unresolved']);
  });

  test('one that contradicts does not keep the others open', async () => {
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

  test('a search that fails or hangs is no answer: the intent stays', async () => {
    await dieIn('failAfter', 2);
    stand.provider.inject({ operation: 'find', effect: 'failBefore' });
    stand.provider.inject({ operation: 'find', effect: 'hang' });
    const two = await stand.life();
    await two.steps('takeLease', 'resolveIntents');
    expect(stand.states()).toEqual(['unresolved', 'unresolved']);
    expect(devices()).toHaveLength(2);
  });

  test('a creation of this process that is under way is not settled beside itself', async () => {
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

describe('a creation that came to nothing', () => {
  /** Its slot is gone, so nobody takes it up; the provider was asked for it so often before. */
  const withoutSlot = async (attempts = 1) => {
    await dieIn('hang');
    const [witness, intent] = [...stand.bmdb.tables.intents][0]!;
    stand.bmdb.tables.intents.set(witness, { ...intent, attempts });
    const { slotId } = intent;
    stand.provider.remove(stand.provider.snatch(slotId), { withReservation: true });
    return stand.life({ limits: { machinesMax: 1 } });
  };

  test('is abandoned after an hour of complete listings, and its slot shelved', async () => {
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

  test('is dropped at once when the provider was never asked for it; nothing is shelved', async () => {
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

  test('provider vector 5: a device that appears three listings later is recorded', async () => {
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

  test('a device that only the last search shows is recorded, not given up', async () => {
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

  test('a rate limit of searches is kept; no search is made before its time', async () => {
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

  test('a new request begins the hour anew', async () => {
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
