import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLost, ProviderError, Unreachable } from '../../../src/domain/errors.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { createProvisionStand, type ProvisionStand } from '../../support/provision-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';
import { PROVIDER } from '../../support/facts.ts';

const GAP_MS = 5_000;
let stand: ProvisionStand;
beforeEach(() => {
  stand = createProvisionStand();
});
const devices = () => stand.provider.devices();
const penalties = () => [...stand.bmdb.tables.penalties.values()];
const holds = () => [...stand.bmdb.tables.providerHolds.values()];

test('keeps creations apart, across rounds too, and starts the first at once', async () => {
  const one = await stand.life({ limits: { chunkSize: 2 } });
  const starts: number[] = [];
  const { intents } = one.keeper.require();
  const { open } = intents;
  Object.assign(intents, {
    open: (...args: Parameters<typeof open>) => {
      starts.push(stand.clock.monotonic());
      return open(...args);
    },
  });
  await one.round();
  await one.round();
  const gaps = starts.slice(1).map((at, index) => at - starts[index]!);
  expect(starts).toHaveLength(4);
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(GAP_MS);
});

test('leaves a slot alone that another daemon provisions meanwhile', async () => {
  const one = await stand.life({ limits: { chunkSize: 1 } });
  await one.steps('takeLease', 'listBoth', 'planRound');
  const two = await stand.life();
  const [slotId] = stand.provider.reservationIds().toSorted();
  await two.keeper.require().intents.open({ provider: PROVIDER, slotId: slotId!, hostname: 'x' });
  await one.step('beginCreations');
  await settled();
  expect(devices()).toEqual([]);
});

test('opens no intent after the job was lost', async () => {
  const one = await stand.life({ limits: { chunkSize: 1 } });
  await one.steps('takeLease', 'listBoth', 'planRound');
  await one.parts.leases.releaseAll();
  const two = await stand.life();
  await two.step('takeLease');
  await expect(one.step('beginCreations')).rejects.toBeInstanceOf(LeaseLost);
  expect(stand.intents()).toEqual([]);
});

test('goes on with rounds when hanging creations take every place', async () => {
  stand.provider.inject({ operation: 'create', effect: 'hang', times: 2 });
  const one = await stand.life({ limits: { parallelism: 2, placeWaitMs: 10_000 } });
  await one.round();
  await one.round();
  expect(stand.log.count('provisioner iteration')).toBe(2);
  expect(stand.intents()).toHaveLength(2);
  await advance(stand.clock, 900_000);
  expect(stand.log.count('the machine was not created'), 'each has a limit').toBe(2);
  for (let at = 0; at < 3; at += 1) await one.round();
  expect(stand.states()).toEqual(Array.from({ length: 6 }, () => 'adopted'));
});

test('lets creations wait for a place and never runs more than allowed', async () => {
  const one = await stand.life({ limits: { chunkSize: 3, parallelism: 1, creationGapMs: 0 } });
  let [running, most] = [0, 0];
  const { createMachine } = stand.provider;
  stand.provider.createMachine = async (...args) => {
    most = Math.max(most, (running += 1));
    return createMachine(...args).finally(() => (running -= 1));
  };
  await one.round();
  await advance(stand.clock, 10_000);
  expect([most, devices().length]).toEqual([1, 3]);
});

test('leaves a creation without a place to the next round', async () => {
  stand.provider.inject({ operation: 'create', effect: 'hang', times: 2 });
  const limits = { chunkSize: 3, parallelism: 2, placeWaitMs: 10_000, creationGapMs: 0 };
  const one = await stand.life({ limits });
  const beganMs = stand.clock.monotonic();
  await one.round();
  expect(stand.clock.monotonic() - beganMs).toBe(10_000);
  expect(
    stand.log.count('the remaining creations wait for the next iteration: no place is free'),
  ).toBe(1);
  expect(stand.intents()).toHaveLength(2);
  const drained = one.drain(0);
  await advance(stand.clock, 1);
  await drained;
});

test('ends the chunk when the job is lost, except a creation already waiting', async () => {
  const one = await stand.life({ limits: { chunkSize: 6 } });
  await one.steps('takeLease', 'listBoth', 'planRound');
  let asked = 0;
  one.keeper.require().intents.open = async () => {
    asked += 1;
    throw new LeaseLost('another daemon has it');
  };
  await expect(one.step('beginCreations')).rejects.toMatchObject({ code: 'lease-lost' });
  expect(asked).toBeLessThanOrEqual(2);
  expect(devices()).toEqual([]);
});

describe('an error of a creation', () => {
  const failing = async (error: Error, chunkSize = 1) => {
    stand.provider.inject({ operation: 'create', effect: 'failBefore', error });
    const one = await stand.life({ limits: { chunkSize } });
    await one.round();
    return one;
  };

  test('equinix vector 13: ends it and puts the slot on a cooldown of an hour', async () => {
    const one = await failing(new ProviderError('invalid', 'no such plan'));
    expect(stand.states()).toEqual(['failed']);
    const [penalty] = penalties();
    expect(penalty).toMatchObject({ cause: expect.stringContaining('no such plan') as string });
    await one.round();
    const slots = stand.intents().map(({ slotId }) => slotId);
    expect(slots).toHaveLength(2);
    expect(slots[1], 'it is not offered again before').not.toBe(penalty!.slotId);
  });

  test('equinix vectors 3 and 7: causes no cooldown after a lost race', async () => {
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.steps('takeLease', 'listBoth', 'planRound');
    stand.provider.snatch(stand.provider.reservationIds().toSorted()[0]!);
    await one.step('beginCreations');
    await settled();
    expect(stand.states()).toEqual(['failed']);
    expect(penalties()).toEqual([]);
    expect(holds()).toEqual([]);
  });

  test('pauses the provider and blames no slot when our token is refused', async () => {
    const one = await failing(new ProviderError('auth', 'token revoked'));
    expect(stand.states()).toEqual(['failed']);
    expect(penalties()).toEqual([]);
    expect(holds()).toMatchObject([{ kind: 'throttle', key: 'create', level: 1 }]);
    expect(await one.round()).toBe(0);
    await advance(stand.clock, 60_000);
    expect(await one.round()).toBe(1);
    expect(holds(), 'a success lifts it').toEqual([]);
  });

  test('stops the rest of the chunk when a quota is exceeded', async () => {
    const error = new ProviderError('invalid', 'enough', { quota: true });
    stand.provider.inject({ operation: 'create', effect: 'failBefore', error, times: 9 });
    const one = await stand.life({ limits: { chunkSize: 6, parallelism: 1 } });
    await one.round();
    expect(stand.intents()).toHaveLength(1);
    expect(holds()).toMatchObject([{ kind: 'quota', amount: 0 }]);
  });

  test('equinix vector 11: leaves the intent open when a refusal follows a lost reply', async () => {
    stand.provider.inject({ operation: 'create', effect: 'loseReply' });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.round();
    expect(stand.states()).toEqual(['unresolved']);
    expect(stand.machines()).toEqual([]);
    await one.round();
    expect(stand.states()).toContain('adopted');
    expect(stand.states()).not.toContain('unresolved');
    const witnesses = devices().map(({ tags }) => tags[WITNESS_TAG]);
    expect(new Set(witnesses).size).toBe(witnesses.length);
    expect(stand.machines()).toHaveLength(devices().length);
  });

  test('does not stop other creations', async () => {
    await failing(new ProviderError('invalid', 'no such plan'), 3);
    expect(stand.states().toSorted()).toEqual(['adopted', 'adopted', 'failed']);
    expect(
      stand.metrics.total('shepherd_provision_outcomes_total', {
        provider: PROVIDER,
        outcome: 'rejected',
      }),
    ).toBe(1);
    expect(
      stand.metrics.total('shepherd_provision_outcomes_total', {
        provider: PROVIDER,
        outcome: 'created',
      }),
    ).toBe(2);
  });
});

describe('the end of the daemon during creations', () => {
  test('provider vector 25: lets creations end, then aborts them and leaves intents open', async () => {
    stand.provider.inject({ operation: 'create', effect: 'hang' });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.round();
    const drained = one.drain(20_000);
    await advance(stand.clock, 19_999);
    expect(stand.log.count('creations are aborted, because the daemon stops')).toBe(0);
    await advance(stand.clock, 1);
    await drained;
    expect(stand.states()).toEqual(['open']);
  });

  test('writes nothing after the session has ended', async () => {
    let refuse!: () => void;
    const answered = new Promise<void>((resolve) => (refuse = resolve));
    const slow: FleetProvider = {
      ...stand.provider,
      createMachine: async () => {
        await answered;
        throw new ProviderError('invalid', 'no such plan');
      },
    };
    const one = await stand.life({ provider: slow, limits: { chunkSize: 1 } });
    await one.round();
    await one.keeper.close();
    refuse();
    await settled();
    expect(stand.states()).toEqual(['open']);
    expect(stand.log.count('the machine was not created')).toBe(1);
  });

  test('starts nothing without a session', async () => {
    const one = await stand.life();
    await one.step('takeLease');
    await one.keeper.close();
    for (const name of ['takeLease', 'resolveIntents', 'listBoth', 'planRound'] as const) {
      await expect(one.step(name)).rejects.toMatchObject({ code: 'session-expired' });
    }
  });
});

test('leaves a device to be found when the database fails at its end', async () => {
  const one = await stand.life({ limits: { chunkSize: 1 } });
  const { intents } = one.keeper.require();
  const { adopt } = intents;
  let failures = 1;
  Object.assign(intents, {
    adopt: async (...args: Parameters<typeof adopt>) => {
      if (failures-- > 0) throw new Unreachable('no database');
      return adopt(...args);
    },
  });
  await one.round();
  expect(stand.states()).toEqual(['open']);
  expect(devices()).toHaveLength(1);
  await one.step('resolveIntents');
  expect(stand.states()).toEqual(['adopted']);
  expect(devices()).toHaveLength(1);
});

test('records a creation once that ends between reading and planning', async () => {
  let end!: () => void;
  const held = new Promise<void>((resolve) => (end = resolve));
  const slow: FleetProvider = {
    ...stand.provider,
    createMachine: async (...args) => {
      const made = await stand.provider.createMachine(...args);
      await held;
      return made;
    },
  };
  const one = await stand.life({ provider: slow, limits: { chunkSize: 1, machinesMax: 1 } });
  await one.round();
  await one.steps('takeLease', 'resolveIntents', 'listBoth');
  end();
  await settled();
  expect(stand.states()).toEqual(['adopted']);
  await one.steps('planRound', 'recordFindings');
  expect(
    stand.metrics.total('shepherd_provision_outcomes_total', {
      provider: PROVIDER,
      outcome: 'adopted',
    }),
  ).toBe(0);
});

test('makes no request before its attempt is recorded', async () => {
  const one = await stand.life({ limits: { chunkSize: 1 } });
  const { intents } = one.keeper.require();
  Object.assign(intents, { progress: () => new Promise(() => undefined) });
  await one.round();
  await advance(stand.clock, 60_000);
  expect(stand.states()).toEqual(['open']);
  expect(devices()).toEqual([]);
});
