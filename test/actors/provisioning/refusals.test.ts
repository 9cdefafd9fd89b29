import { beforeEach, describe, expect, test } from 'vitest';
import { ProviderError, Unreachable } from '../../../src/domain/errors.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { createProvisionStand, type ProvisionStand } from '../../support/provision-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';
import { PROVIDER } from '../../support/facts.ts';

let stand: ProvisionStand;
beforeEach(() => {
  stand = createProvisionStand();
});
const devices = () => stand.provider.devices();
const penalties = () => [...stand.bmdb.tables.penalties.values()];
const holds = () => [...stand.bmdb.tables.providerHolds.values()];

describe('a slot whose creation always fails', () => {
  const FLAWED = 'flawed';
  const withFlawed = (error: () => Error): FleetProvider => ({
    ...stand.provider,
    createMachine: async (request, options) => {
      const [first] = stand.provider.reservationIds().toSorted();
      if (request.unused.reservationId === first) {
        asked.push(FLAWED);
        throw error();
      }
      asked.push(request.unused.reservationId!);
      return stand.provider.createMachine(request, options);
    },
  });
  let asked: string[];
  beforeEach(() => {
    asked = [];
  });

  test.each(['auth', 'transient'] as const)(
    'does not stop other creations of its provider after %s',
    async (kind) => {
      const provider = withFlawed(() => new ProviderError(kind, 'not this one'));
      const one = await stand.life({ provider, limits: { chunkSize: 2 } });
      for (let at = 0; at < 10; at += 1) {
        await one.round();
        await advance(stand.clock, 60_000);
      }
      expect(stand.machines()).toHaveLength(5);
      expect(penalties(), 'others succeeded since it failed').toHaveLength(1);
      expect(asked.filter((each) => each === FLAWED).length).toBeLessThanOrEqual(3);
    },
  );

  test('does not use up the tries by lost races', async () => {
    const provider = withFlawed(() => new ProviderError('race-lost', 'another has it'));
    const one = await stand.life({ provider, limits: { chunkSize: 1 } });
    for (let at = 0; at < 6; at += 1) await one.round();
    expect(stand.machines()).toHaveLength(5);
    expect(penalties(), 'a lost race shelves nothing').toEqual([]);
  });

  test('is not blamed for an outage of the provider', async () => {
    const error = new ProviderError('transient', 'down');
    stand.provider.inject({ operation: 'create', effect: 'failBefore', error, times: 9 });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    for (let at = 0; at < 12; at += 1) {
      await one.round();
      await advance(stand.clock, 301_000);
    }
    expect(penalties()).toEqual([]);
    expect(stand.machines().length).toBeGreaterThan(0);
  });
});

describe('a hold that is set during a creation', () => {
  const bar = () => {
    const [slotId] = stand.provider.reservationIds().toSorted();
    stand.bmdb.tables.holds.push({
      provider: PROVIDER,
      slotId: slotId!,
      kind: 'no-allocate',
      setBy: 'ann',
      reason: 'being moved',
      untilMs: null,
    });
  };

  test('stops the first request and ends the intent without a cooldown', async () => {
    const late: FleetProvider = {
      ...stand.provider,
      createMachine: (request, options) => {
        bar();
        return stand.provider.createMachine(request, options);
      },
    };
    const one = await stand.life({ provider: late, limits: { chunkSize: 1 } });
    await one.round();
    expect(devices()).toEqual([]);
    expect(stand.states()).toEqual(['failed']);
    expect(penalties()).toEqual([]);
  });

  test('stops a resumed creation from another request', async () => {
    stand.provider.inject({ operation: 'create', effect: 'hang' });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    await one.round();
    one.die();
    const two = await stand.life({ limits: { chunkSize: 1 } });
    await two.steps('takeLease', 'resolveIntents', 'listBoth', 'planRound');
    bar();
    await two.step('beginCreations');
    await settled();
    expect(devices()).toEqual([]);
  });
});

describe('what the provider said about itself', () => {
  const limited = () =>
    new ProviderError('transient', 'slow down', {
      rateLimit: { retryAt: new Date(stand.clock.now() + 120_000) },
    });

  test('is kept when the intent cannot be written', async () => {
    stand.provider.inject({ operation: 'create', effect: 'failBefore', error: limited() });
    const one = await stand.life({ limits: { chunkSize: 1 } });
    const refuse = async () => {
      throw new Unreachable('no database');
    };
    const { intents } = one.keeper.require();
    Object.assign(intents, { end: refuse });
    await one.round();
    expect(holds()).toMatchObject([{ kind: 'throttle', key: 'create' }]);
  });

  test('is kept when the session has ended', async () => {
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const slow: FleetProvider = {
      ...stand.provider,
      createMachine: async () => {
        await answered;
        throw limited();
      },
    };
    const one = await stand.life({ provider: slow, limits: { chunkSize: 1 } });
    await one.round();
    await one.keeper.close();
    answer();
    await settled();
    expect(holds()).toMatchObject([{ kind: 'throttle', key: 'create' }]);
    expect(stand.states()).toEqual(['open']);
  });

  test('is kept when an earlier creation succeeds later', async () => {
    await stand.bmdb.providerHolds.impose({
      provider: PROVIDER,
      kind: 'throttle',
      key: 'create',
      forMs: 0,
      level: 1,
      cause: 'old',
    });
    await advance(stand.clock, 1);
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let calls = 0;
    const mixed: FleetProvider = {
      ...stand.provider,
      createMachine: async (request, options) => {
        calls += 1;
        if (calls > 1) throw limited();
        await answered;
        return stand.provider.createMachine(request, options);
      },
    };
    const one = await stand.life({ provider: mixed, limits: { chunkSize: 2 } });
    await one.round();
    answer();
    await settled();
    expect(stand.machines()).toHaveLength(1);
    expect(holds()).toMatchObject([{ cause: expect.stringContaining('slow down') as string }]);
    expect(await one.round()).toBe(0);
  });
});
