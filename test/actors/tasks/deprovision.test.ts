import { beforeEach, describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { slot } from '../../../src/domain/ids.ts';
import {
  deprovisionAsked,
  device,
  MACHINE,
  PROVIDER,
  provided,
  SLOT_ID,
} from '../../support/facts.ts';
import { fleetOf, machine as deviceOf, scripted } from '../../doubles/scripted-driver.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { runDeprovision } from './run-deprovision.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
let stand: TaskStand;
/** The provider's view: the device, its removal, or nothing; and when its slot is free. */
let shown: 'there' | 'going' | 'gone';
let destroys: number[];
let reusable: () => boolean;
let looks: number;
/** When the provider announces the device's end. */
let leavesAtMs: number | null;
let provider: FleetProvider;

beforeEach(async () => {
  stand = createTaskStand();
  [shown, destroys, looks] = ['there', [], 0];
  reusable = () => true;
  leavesAtMs = null;
  provider = scriptedProvider({
    getMachine: async (id) => {
      looks += 1;
      if (shown === 'gone') throw new ProviderError('not-found', `no device ${id}`);
      const status = shown === 'going' ? 'Missing' : 'Running';
      return device({ status, ...(leavesAtMs !== null && { leavesAtMs }) });
    },
    deprovisionMachine: async (_, { beforeSending }) => {
      await beforeSending?.();
      destroys.push(stand.clock.monotonic());
    },
    isReusable: async () => reusable(),
  });
  await stand.openSession();
});

const begin = () => runDeprovision(stand, provider);
const asked = (change = {}) => stand.given({ deprovision: deprovisionAsked(change) });
const isThere = () => stand.bmdb.tables.machines.has(MACHINE);

test('asks, waits until the device is gone and its slot reusable, and deletes the machine but not its history', async () => {
  asked();
  reusable = () => false;
  const result = begin();
  await advance(stand.clock, SECOND);
  expect(destroys).toHaveLength(1);
  expect(stand.row().deprovision).toMatchObject({
    attempts: 1,
    askedAtMs: expect.any(Number) as number,
  });
  shown = 'gone';
  await advance(stand.clock, 15 * SECOND);
  expect(isThere(), 'its slot is not clean yet').toBe(true);
  reusable = () => true;
  await advance(stand.clock, 15 * SECOND);
  expect(await result).toMatchObject({ outcome: 'done', failure: null });
  expect(isThere()).toBe(false);
  expect(stand.bmdb.tables.history.map(({ event }) => event)).toEqual(['Started', 'Finished']);
  expect(stand.taskPool.busy).toBe(0);
});

describe('the slot of a machine that was given back', () => {
  const giveBack = async (change = {}, row = {}) => {
    stand.given({ deprovision: deprovisionAsked(change), ...row });
    shown = 'gone';
    const result = begin();
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    return stand.bmdb.tables.holds;
  };

  test('D4: stays free by a hold no-allocate that names who gave the machine back and why', async () => {
    expect(await giveBack()).toEqual([
      {
        ...{ provider: PROVIDER, slotId: SLOT_ID, kind: 'no-allocate', untilMs: null },
        ...{ setBy: 'ann', reason: 'given back: it is not needed' },
      },
    ]);
  });

  test('gets no hold when the request returns it to the pool', async () => {
    expect(await giveBack({ returnToPool: true })).toEqual([]);
  });

  test('gets no hold when the slot is the device and gone with it', async () => {
    const hardware = provided({ reservationId: null });
    reusable = () => expect.unreachable('there is no slot to ask for');
    expect(await giveBack({}, { provided: hardware })).toEqual([]);
  });
});

describe('A2: a machine that a proxy denies', () => {
  /** The provider behind a proxy that answers 404 to every machine lookup while `lies` is true. */
  const behindAProxy = (given: { lies: boolean; listed: boolean }) => {
    const there = { ...deviceOf('device-1'), reservationId: SLOT_ID };
    const driver = scripted({
      async getMachine(id) {
        looks += 1;
        if (given.lies || !given.listed) throw new ProviderError('not-found', `no device ${id}`);
        return there;
      },
      listMachines: async () => ({ machines: given.listed ? [there] : [], complete: true }),
      deprovisionMachine: async () => void destroys.push(stand.clock.monotonic()),
      isReusable: async () => reusable(),
    });
    const { clock, random } = stand;
    return fleetOf(driver, { name: PROVIDER }, { clock, random }).fleet;
  };

  test('is not given back while it is listed, and is given back when the false answers end', async () => {
    const given = { lies: true, listed: true };
    provider = behindAProxy(given);
    // A request was sent before, so a lookup comes first.
    asked({ attempts: 1, askedAtMs: stand.clock.now() });
    const first = begin();
    await advance(stand.clock, 2 * MINUTE);
    expect(await first).toMatchObject({ outcome: 'failed' });
    expect({ isThere: isThere(), destroys }).toEqual({ isThere: true, destroys: [] });
    expect(looks).toBeGreaterThan(0);
    given.lies = false;
    stand.given({ deprovision: deprovisionAsked(), backoffs: [] });
    const second = begin();
    await advance(stand.clock, SECOND);
    expect(destroys).toHaveLength(1);
    given.listed = false;
    await advance(stand.clock, 2 * MINUTE);
    expect(await second).toMatchObject({ outcome: 'done' });
    expect(isThere()).toBe(false);
  });

  test.each([0, 1])('is gone when its slot is listed as free, after %i requests', async (n) => {
    const free = { ...deviceOf('spare'), id: null, reservationId: SLOT_ID };
    const nameless = { ...deviceOf('x'), id: 7 } as never;
    const driver = scripted({
      async getMachine(id) {
        throw new ProviderError('not-found', `no device ${id}`);
      },
      // One entry has no name, so this listing alone proves no absence.
      listMachines: async () => ({
        machines: [{ ...free, availability: 'KnownUnused' }, nameless],
        complete: true,
      }),
      isReusable: async () => true,
    });
    const { clock, random } = stand;
    provider = fleetOf(driver, { name: PROVIDER }, { clock, random }).fleet;
    asked(n > 0 ? { attempts: n, askedAtMs: stand.clock.now() } : {});
    const result = begin();
    await advance(stand.clock, 2 * MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(isThere()).toBe(false);
  });
});

describe('a device that stays after it was given back', () => {
  test('provider vector 22: is requested again, 10 s to 10 min apart, with an alarm after 20', async () => {
    asked();
    const result = begin();
    await advance(stand.clock, 4 * 60 * MINUTE);
    const gaps = destroys.slice(1).map((at, index) => (at - destroys[index]!) / SECOND);
    expect(
      gaps.slice(0, 3).map((gap, at) => gap >= 10 * 2 ** at && gap < 10 * 2 ** at + 25),
    ).toEqual([true, true, true]);
    expect(Math.min(...gaps.slice(7))).toBeGreaterThanOrEqual(600);
    expect(Math.max(...gaps)).toBeLessThan(625);
    expect(stand.row().deprovision!.attempts).toBe(destroys.length);
    expect(stand.metrics.total('shepherd_deprovisions_stuck_total', { provider: PROVIDER })).toBe(
      1,
    );
    expect(stand.log.count('the device of a machine is still there')).toBe(1);
    shown = 'gone';
    await advance(stand.clock, MINUTE);
    expect((await result).outcome).toBe('done');
  });

  test('is left alone while it disappears by itself', async () => {
    asked();
    const result = begin();
    await advance(stand.clock, SECOND);
    shown = 'going';
    await advance(stand.clock, 9 * MINUTE);
    expect(destroys).toHaveLength(1);
    shown = 'gone';
    await advance(stand.clock, MINUTE);
    await result;
  });

  test.each([0, 1])(
    'is awaited without alarm until its announced end (requests before: %i)',
    async (attempts) => {
      shown = 'going';
      leavesAtMs = stand.clock.now() + 30 * 24 * 60 * MINUTE;
      asked(attempts === 0 ? {} : { attempts, askedAtMs: stand.clock.now() });
      const result = begin();
      await advance(stand.clock, 7 * 24 * 60 * MINUTE);
      expect(destroys).toHaveLength(1 - attempts);
      expect(looks).toBeLessThan(7 * 24 * 8);
      expect(stand.metrics.total('shepherd_deprovisions_stuck_total', { provider: PROVIDER })).toBe(
        0,
      );
      // It should be gone by now, so the request is repeated.
      leavesAtMs = stand.clock.now() - 1;
      await advance(stand.clock, 30 * MINUTE);
      expect(destroys.length).toBeGreaterThan(1 - attempts);
      shown = 'gone';
      await advance(stand.clock, 15 * MINUTE);
      expect((await result).outcome).toBe('done');
    },
  );

  test('occupies no place during a long wait', async () => {
    asked();
    const result = begin();
    await advance(stand.clock, MINUTE);
    let granted = false;
    const other = slot(PROVIDER, 'rack-2');
    void stand.taskPool
      .grant(other, 'deprovision', new AbortController().signal)
      .then(() => (granted = true));
    await advance(stand.clock, SECOND);
    expect(granted).toBe(true);
    stand.taskPool.end(other);
    shown = 'gone';
    await advance(stand.clock, MINUTE);
    await result;
  });
});

describe('recognises what was done already', () => {
  test('makes no second request for a device that is gone', async () => {
    asked({ attempts: 3, askedAtMs: 1 });
    shown = 'gone';
    expect((await begin()).outcome).toBe('done');
    expect(destroys).toEqual([]);
  });
});

describe('failures of giving back', () => {
  test('equinix: delete nothing that is not ours, show the reason and try later', async () => {
    asked();
    provider = {
      ...provider,
      deprovisionMachine: async () => {
        throw new ProviderError('auth', 'device-1 is not ours (untagged)');
      },
    };
    const result = await begin();
    expect(result).toMatchObject({ outcome: 'failed', failure: { code: 'auth' } });
    expect(isThere()).toBe(true);
    expect(stand.row().backoffs).toMatchObject([
      { process: 'ShepherdDeprovision', cause: 'device-1 is not ours (untagged)' },
    ]);
  });

  test('respect a rate limit of looks, and look no earlier', async () => {
    asked();
    const error = new ProviderError('transient', 'slow down', {
      rateLimit: { retryAt: new Date(stand.clock.now() + 5 * MINUTE) },
    });
    const { getMachine } = provider;
    let isLimited = true;
    provider = {
      ...provider,
      getMachine: async (...args) => {
        if (!isLimited) return getMachine(...args);
        looks += 1;
        throw error;
      },
    };
    const result = begin();
    await advance(stand.clock, 4 * MINUTE);
    expect(looks).toBe(1);
    isLimited = false;
    shown = 'gone';
    await advance(stand.clock, 2 * MINUTE);
    expect((await result).outcome).toBe('done');
    expect(looks).toBeGreaterThan(1);
  });

  test('respect a rate limit of deletions, which delays nothing else', async () => {
    asked();
    const error = new ProviderError('transient', 'slow down', {
      rateLimit: { retryAt: new Date(stand.clock.now() + 5 * MINUTE) },
    });
    const { deprovisionMachine } = provider;
    provider = {
      ...provider,
      deprovisionMachine: async () => {
        throw error;
      },
    };
    expect(await begin()).toMatchObject({ outcome: 'failed' });
    expect([...stand.bmdb.tables.providerHolds.values()]).toMatchObject([
      { kind: 'throttle', key: 'destroy' },
    ]);
    provider = { ...provider, deprovisionMachine };
    await advance(stand.clock, MINUTE);
    expect(await begin(), 'it is not even asked').toMatchObject({ outcome: 'failed' });
    expect(destroys).toEqual([]);
    await advance(stand.clock, 5 * MINUTE);
    const result = begin();
    await advance(stand.clock, SECOND);
    shown = 'gone';
    await advance(stand.clock, MINUTE);
    expect((await result).outcome).toBe('done');
    expect(stand.bmdb.tables.providerHolds.size).toBe(0);
  });

  test('conclude nothing from failed looks', async () => {
    asked();
    const { getMachine, isReusable } = provider;
    let failures = 4;
    const failing =
      <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
      async (...args: Args) => {
        if (failures-- > 0) throw new ProviderError('transient', 'try later');
        return act(...args);
      };
    provider = { ...provider, getMachine: failing(getMachine), isReusable: failing(isReusable) };
    const result = begin();
    await advance(stand.clock, SECOND);
    shown = 'gone';
    await advance(stand.clock, 2 * MINUTE);
    expect((await result).outcome).toBe('done');
  });

  test('look later at a slot that is not cleaned within an hour', async () => {
    asked();
    reusable = () => false;
    const result = begin();
    await advance(stand.clock, SECOND);
    shown = 'gone';
    await advance(stand.clock, 61 * MINUTE);
    expect(await result).toMatchObject({ outcome: 'failed', failure: { code: 'timed-out' } });
    expect(isThere()).toBe(true);
  });

  test('refuse without a request', async () => {
    stand.given();
    expect(await begin()).toMatchObject({ outcome: 'refused', failure: { code: 'nothing-to-do' } });
    expect(looks).toBe(0);
  });

  test('leave the request as it is when the session ends midway', async () => {
    asked();
    const result = begin();
    await advance(stand.clock, SECOND);
    await stand.keeper.close();
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'failed' });
    expect(stand.row().deprovision).toMatchObject({ attempts: 1 });
    expect(stand.row().backoffs).toEqual([]);
  });
});
