import { beforeEach, describe, expect, test } from 'vitest';
import { provisionSlots, type ProvisionDeps } from '../../src/actors/provision.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { createMemBmdb, type MemBmdb } from '../../src/adapters/bmdb/mem/mem-bmdb.ts';
import { createSeededRandom } from '../../src/adapters/clock/simulated-clock.ts';
import type { Provider } from '../../src/adapters/provider/port.ts';
import {
  createMemProvider,
  type MemProvider,
} from '../../src/adapters/provider/stub/mem-provider.ts';
import { RemoteFailure, Unreachable, WorkConflict } from '../../src/domain/errors.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { Creation } from '../../src/domain/reconcile.ts';
import { PROVIDER } from '../support/facts.ts';
import { recordingLog, type RecordingLog } from '../support/recording-log.ts';
import { runSlot } from '../support/run-slot.ts';
import {
  advance,
  createWatchedClock,
  settled,
  type WatchedClock,
} from '../support/watched-clock.ts';

const GAP_MS = 5_000;
const HOUR_MS = 3_600_000;

let clock: WatchedClock;
let bmdb: MemBmdb;
let provider: MemProvider;
let log: RecordingLog;

beforeEach(() => {
  clock = createWatchedClock();
  log = recordingLog();
  const random = createSeededRandom(1);
  bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const config = {
    ...{ devicePrefix: 'machine-', instanceSetId: 'test', reservations: 6 },
    ...{ provisioningMs: 1_000, latencyMs: 0 },
  };
  provider = createMemProvider(config, { clock, random });
});

/** One life of the daemon; a second one finds what the first left behind. */
async function life(
  change: { provider?: Provider; limits?: Partial<ProvisionDeps['limits']> } = {},
) {
  const keeper: SessionKeeper = createSessionKeeper({
    ...{ bmdb, log, component: 'shepherd', runtimeInfo: 'test' },
  });
  await runSlot(keeper.slots.openSession, { intervalMs: 10 * HOUR_MS }).result;
  const slots = provisionSlots({
    ...{ bmdb, keeper, clock, log },
    providers: new Map([[PROVIDER, change.provider ?? provider]]),
    limits: {
      ...{ machinesMax: 0, chunkSize: 2, creationGapMs: GAP_MS, parallelism: 3 },
      ...{ penaltyMs: HOUR_MS, abandonMs: HOUR_MS },
      ...change.limits,
    },
  });
  const input = { provider: PROVIDER };
  return {
    keeper,
    plan: () => runSlot(slots.planCreations, input).result,
    settle: () => runSlot(slots.settleIntents, input).result,
    create: (planned: readonly Creation[]) => runSlot(slots.createMachines, { ...input, planned }),
    /** The process dies: the session is never closed, and ends at its deadline. */
    die: () => {
      for (const session of bmdb.tables.sessions.values()) session.deadlineMs = 0;
    },
  };
}
type Life = Awaited<ReturnType<typeof life>>;

const round = async ({ plan, settle, create }: Life) => {
  await settle();
  const run = create(await plan());
  await advance(clock, 4 * GAP_MS);
  await run.result;
};
const intents = () => [...bmdb.tables.intents.values()];
const states = () => intents().map(({ state }) => state);
const machines = () => [...bmdb.tables.machines.values()].map(({ row }) => row);

describe('creation', () => {
  test('goes round by round up to the limit', async () => {
    const one = await life({ limits: { machinesMax: 5 } });
    for (const expected of [2, 4, 5, 5]) {
      await round(one);
      expect(provider.devices()).toHaveLength(expected);
    }
    expect(new Set(machines().map(({ provided }) => provided!.reservationId)).size).toBe(5);
    expect(states()).toEqual(Array.from({ length: 5 }, () => 'adopted'));
  });

  test('keeps its distance, the first at once', async () => {
    const one = await life({ limits: { chunkSize: 4 } });
    const run = one.create(await one.plan());
    const counts = [];
    for (let at = 0; at < 4; at += 1) {
      await advance(clock, 1);
      counts.push(provider.devices().length);
      await advance(clock, GAP_MS - 1);
    }
    await run.result;
    expect(counts).toEqual([1, 2, 3, 4]);
  });

  test('a stop between two creations begins no other', async () => {
    const one = await life();
    const run = one.create(await one.plan());
    await settled();
    run.stop();
    await advance(clock, 10 * GAP_MS);
    expect(intents()).toHaveLength(1);
  });

  test('a listing with gaps plans nothing', async () => {
    provider.inject({ operation: 'list', effect: 'incomplete' });
    expect(await (await life()).plan()).toEqual([]);
  });

  test('a failed listing is an error, not an empty plan', async () => {
    provider.inject({ operation: 'list', effect: 'failBefore' });
    await expect((await life()).plan()).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('a slot that someone else provisions, or shelves, meanwhile is left alone', async () => {
    const [one, two] = [await life(), await life()];
    const planned = await one.plan();
    const name = planned[1]!.slot;
    await two.keeper.require().intents.open({
      ...{ provider: PROVIDER, slotId: planned[0]!.slotId, hostname: 'x' },
    });
    const penalty = { provider: PROVIDER, slotId: planned[1]!.slotId, cause: 'shelved' };
    bmdb.tables.penalties.set(name, { ...penalty, untilMs: clock.now() + HOUR_MS, level: 1 });
    const run = one.create(planned);
    await advance(clock, 2 * GAP_MS);
    await run.result;
    expect(provider.devices()).toEqual([]);
  });

  test('one failure does not stop the others, and is reported', async () => {
    provider.inject({ operation: 'create', effect: 'failBefore' });
    const one = await life();
    const run = one.create(await one.plan());
    await advance(clock, 2 * GAP_MS);
    await run.result;
    expect(states()).toEqual(['unresolved', 'adopted']);
    expect(log.count('the machine was not created')).toBe(1);
  });
});

describe('an error of a creation', () => {
  test('a lost race ends the intent, without shelving the slot', async () => {
    const one = await life({ limits: { chunkSize: 1 } });
    const planned = await one.plan();
    provider.snatch(planned[0]!.slotId);
    await one.create(planned).result;
    expect(states()).toEqual(['failed']);
    expect(bmdb.tables.penalties.size).toBe(0);
  });

  test('a refusal ends it and shelves the slot', async () => {
    const error = new RemoteFailure('no such plan');
    provider.inject({ operation: 'create', effect: 'failBefore', error });
    const one = await life({ limits: { chunkSize: 1 } });
    const planned = await one.plan();
    await one.create(planned).result;
    expect(states()).toEqual(['failed']);
    const penalty = bmdb.tables.penalties.get(planned[0]!.slot);
    expect(penalty).toMatchObject({ cause: 'no such plan', untilMs: clock.now() + HOUR_MS });
    expect((await one.plan()).map(({ slot }) => slot)).not.toContain(planned[0]!.slot);
  });

  test('an unknown outcome leaves it unresolved; the device is found by its witness', async () => {
    provider.inject({ operation: 'create', effect: 'loseReply' });
    const one = await life({ limits: { chunkSize: 1 } });
    await one.create(await one.plan()).result;
    expect(states()).toEqual(['unresolved']);
    expect(machines()).toEqual([]);
    await one.settle();
    expect(states()).toEqual(['adopted']);
    expect(machines()).toHaveLength(1);
    expect(provider.devices()).toHaveLength(1);
  });
});

describe('settling what an earlier life left open', () => {
  /** Dies right after the provider did what it was asked for, or before. */
  const dieIn = async (effect: 'failAfter' | 'failBefore') => {
    const first = await life({ limits: { chunkSize: 1 } });
    provider.inject({ operation: 'create', effect });
    const run = first.create(await first.plan());
    await run.result;
    first.die();
  };

  test('a device that was created is adopted, and no second one is made', async () => {
    await dieIn('failAfter');
    const second = await life({ limits: { chunkSize: 1 } });
    await second.settle();
    expect(states()).toEqual(['adopted']);
    expect(provider.devices()).toHaveLength(1);
    expect(machines()[0]!.provided!.providerId).toBe(provider.devices()[0]!.id);
    await second.settle();
    expect(machines()).toHaveLength(1);
  });

  test('a creation without a device is resumed under the same witness', async () => {
    await dieIn('failBefore');
    const [{ witness }] = intents() as [ReturnType<typeof intents>[number]];
    const second = await life();
    await second.settle();
    expect(states()).toEqual(['adopted']);
    expect(provider.devices()[0]!.tags['op']).toBe(witness);
    expect(machines()[0]!.machineId).toBe(intents()[0]!.machineId);
  });

  test('an attempt that may have reached the provider is resumed as such', async () => {
    const resumed: unknown[] = [];
    const vague: Provider = {
      ...provider,
      createMachine: async (request) => {
        resumed.push(request.resumed);
        await request.onAttempt?.({ attempts: 1, ambiguous: false });
        throw new Unreachable('the reply was lost');
      },
    };
    const one = await life({ provider: vague, limits: { chunkSize: 1 } });
    await one.create(await one.plan()).result;
    await one.settle();
    expect(resumed).toEqual([false, true]);
    expect(intents()).toMatchObject([{ state: 'unresolved', attempts: 1 }]);
  });

  test('a device that another owner tagged is not adopted, and keeps nobody else waiting', async () => {
    provider.inject({ operation: 'create', effect: 'failAfter', times: 2 });
    const first = await life();
    const run = first.create(await first.plan());
    await advance(clock, 2 * GAP_MS);
    await run.result;
    first.die();
    provider.setOwner(provider.devices()[0]!.id!, 'somebody else');
    const second = await life();
    await second.settle();
    expect(states().toSorted()).toEqual(['adopted', 'failed']);
    expect(machines().map(({ provided }) => provided?.providerId)).toEqual([
      provider.devices()[1]!.id,
    ]);
    expect(provider.devices()).toHaveLength(2);
  });

  test('while its session lives, an intent is left to it', async () => {
    provider.inject({ operation: 'create', effect: 'failBefore' });
    const first = await life({ limits: { chunkSize: 1 } });
    await first.create(await first.plan()).result;
    const second = await life();
    await second.settle();
    expect(states()).toEqual(['unresolved']);
    expect(log.count('the unfinished creation cannot be settled now'), 'not even tried').toBe(0);
  });

  test('an intent whose slot is gone is abandoned after long enough, not before', async () => {
    await dieIn('failBefore');
    const { slotId } = intents()[0]!;
    const stranger = provider.snatch(slotId);
    provider.remove(stranger, { withReservation: true });
    const second = await life();
    await second.settle();
    expect(states()).toEqual(['unresolved']);
    await advance(clock, HOUR_MS + 1);
    provider.inject({ operation: 'list', effect: 'incomplete' });
    await second.settle();
    expect(states()).toEqual(['unresolved']);
    await second.settle();
    expect(states()).toEqual(['abandoned']);
    expect(bmdb.tables.penalties.size).toBe(1);
  });

  test('one that contradicts does not keep the others open', async () => {
    await dieIn('failAfter');
    await dieIn('failAfter');
    const second = await life();
    const { intents: book } = second.keeper.require();
    const { adopt } = book;
    let refused = 0;
    Object.assign(book, {
      adopt: async (...args: Parameters<typeof adopt>) => {
        refused += 1;
        if (refused === 1) throw new WorkConflict('the device belongs to another machine');
        return adopt(...args);
      },
    });
    await second.settle();
    expect(states().toSorted()).toEqual(['adopted', 'unresolved']);
    expect(log.count('the unfinished creation cannot be settled now')).toBe(1);
  });

  test('a provider that does not answer fails the round', async () => {
    await dieIn('failAfter');
    provider.inject({ operation: 'find', effect: 'failBefore', error: new Unreachable('down') });
    await expect((await life()).settle()).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('a creation of this process that is under way is not settled beside itself', async () => {
    let go!: () => void;
    const held = new Promise<void>((resolve) => (go = resolve));
    const slow: Provider = {
      ...provider,
      createMachine: async (request, options) => {
        await held;
        return provider.createMachine(request, options);
      },
    };
    const one = await life({ provider: slow, limits: { chunkSize: 1 } });
    const run = one.create(await one.plan());
    await settled();
    await one.settle();
    expect(states()).toEqual(['open']);
    go();
    await run.result;
    expect(states()).toEqual(['adopted']);
    expect(provider.devices()).toHaveLength(1);
  });
});

test('an error that comes after the end of the session is not written', async () => {
  let refuse!: () => void;
  const answered = new Promise<void>((resolve) => (refuse = resolve));
  const slow: Provider = {
    ...provider,
    createMachine: async () => {
      await answered;
      throw new RemoteFailure('no such plan');
    },
  };
  const one = await life({ provider: slow, limits: { chunkSize: 1 } });
  const { intents: book } = one.keeper.require();
  const written: string[] = [];
  Object.assign(book, {
    end: async () => void written.push('end'),
    progress: async () => void written.push('progress'),
  });
  const run = one.create(await one.plan());
  await settled();
  await one.keeper.close();
  refuse();
  await run.result;
  expect(written).toEqual([]);
  expect(states()).toEqual(['open']);
  expect(log.count('the machine was not created')).toBe(1);
});

test('without a session nothing is begun', async () => {
  const one = await life();
  await one.keeper.close();
  await expect(one.plan()).rejects.toMatchObject({ code: 'session-expired' });
  await expect(one.settle()).rejects.toMatchObject({ code: 'session-expired' });
  await expect(one.create([]).result).rejects.toMatchObject({ code: 'session-expired' });
});
