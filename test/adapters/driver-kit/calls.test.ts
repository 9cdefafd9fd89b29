import { expect, onTestFinished, test } from 'vitest';
import type { CallOptions, FleetProvider, Provider } from '../../../src/adapters/provider/port.ts';
import { isProviderError, ProviderError, UsageError } from '../../../src/domain/errors.ts';
import { facetsOf } from '../../../src/domain/provisioning/provider-holds.ts';
import {
  EVERYTHING,
  fleetOf,
  live,
  machine,
  order,
  scripted,
} from '../../doubles/scripted-driver.ts';
import { createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';

const open: typeof fleetOf = (...args) => {
  const stand = fleetOf(...args);
  onTestFinished(() => stand.fleet.stop());
  return stand;
};

/** The error that rejected a call. */
const rejection = async (call: Promise<unknown>): Promise<ProviderError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isProviderError(error)) throw new Error('not a ProviderError', { cause: error });
  return error;
};
/** Like a driver that respects its signal, and otherwise never answers. */
const hanging = ({ signal }: CallOptions) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('let through')), { once: true });
  });

test('aborts a call when its deadline passes', async () => {
  const clock = createSimulatedClock();
  let deadline: Date | undefined;
  const getMachine: Provider['getMachine'] = (_id, options) => {
    deadline = options.deadline;
    return hanging(options);
  };
  const { fleet } = open(scripted({ getMachine }), {}, { clock });
  const outcome = rejection(fleet.getMachine('a', { ...live, timeoutMs: 7_000 }));
  await settled();
  expect(deadline).toEqual(new Date(clock.now() + 7_000));
  clock.increment(6_999);
  clock.increment(1);
  expect(await outcome).toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  expect(clock.pending, 'no timer is left').toBe(0);
});

test('applies the limits of the operation by default', async () => {
  const clock = createSimulatedClock();
  const limits: number[] = [];
  const note = (_: unknown, { deadline }: CallOptions) => {
    limits.push((deadline.getTime() - clock.now()) / 60_000);
    throw new ProviderError('transient', 'no');
  };
  const driver = scripted({ listMachines: note, getMachine: note, createMachine: note });
  const { fleet } = open(driver, {}, { clock });
  await rejection(fleet.listMachines(live));
  await rejection(fleet.getMachine('a', live));
  await rejection(fleet.createMachine(order(), live));
  expect(limits).toEqual([15, 5, 15]);
});

test('abandons and names a driver that ignores its signal', async () => {
  const clock = createSimulatedClock();
  const createMachine = () => new Promise<never>(() => undefined);
  const driver = scripted({ createMachine, capabilities: { ...EVERYTHING, maxConcurrency: 1 } });
  const { fleet, log } = open(driver, {}, { clock });
  const leaving = new AbortController();
  const outcome = rejection(fleet.createMachine(order(), { signal: leaving.signal }));
  await settled();
  leaving.abort();
  clock.increment(5_000);
  expect(await outcome).toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  expect(log.count('the driver ignores its signal')).toBe(1);
  expect((await fleet.getMachine('a', live)).id, 'its turn is free again').toBe('a');
});

test('ignores an abort after the call has ended', async () => {
  const clock = createSimulatedClock();
  let after: AbortSignal | undefined;
  const getMachine: Provider['getMachine'] = async (id, { signal }) => {
    after = signal;
    return machine(id);
  };
  const { fleet } = open(scripted({ getMachine }), {}, { clock });
  const leaving = new AbortController();
  await fleet.getMachine('a', { signal: leaving.signal });
  leaving.abort();
  expect([after?.aborted, clock.pending], 'nothing waits for the driver to heed it').toEqual([
    true,
    0,
  ]);
});

test.each([
  ['a read', (fleet: FleetProvider) => fleet.getMachine('a', live), 'not-done'],
  ['a change', (fleet: FleetProvider) => fleet.createMachine(order(), live), 'unknown'],
] as const)(
  'reports an error that the port does not define as a driver bug: %s',
  async (_, call, done) => {
    const mistake = new TypeError('undefined is not a machine');
    const fail = () => {
      throw mistake;
    };
    const { fleet } = open(scripted({ getMachine: fail, createMachine: fail }));
    const error = await rejection(call(fleet));
    expect(error).toMatchObject({ kind: 'permanent', outcome: done, cause: mistake });
  },
);

test('vector 10: recognises a facet and a kind two causes deep', async () => {
  const capacity = { scope: 'group' } as const;
  const inner = new ProviderError('transient', 'sold out', { capacity });
  const wrapped = new Error('outer', { cause: new Error('inner', { cause: inner }) });
  const { fleet } = open(scripted({ createMachine: () => Promise.reject(wrapped) }));
  const error = await rejection(fleet.createMachine(order(), live));
  expect(error.kind).toBe('transient');
  expect(facetsOf(error)).toMatchObject({ capacity: 'group', outcome: 'not-done' });
});

test('vector 6: passes on the retry time of one kind of call, and delays no other', async () => {
  const rateLimit = { retryAt: new Date(120_000) };
  const limited = () => Promise.reject(new ProviderError('transient', '429', { rateLimit }));
  const driver = scripted({
    createMachine: limited,
    listMachines: async () => ({ machines: [], complete: true }),
    deprovisionMachine: async () => undefined,
  });
  const { fleet } = open(driver);
  const error = await rejection(fleet.createMachine(order(), live));
  expect(facetsOf(error)).toMatchObject({ retryAtMs: 120_000, outcome: 'not-done' });
  expect(await fleet.listMachines(live)).toEqual({ machines: [], complete: true });
  await fleet.deprovisionMachine('a', live);
});

test('vector 25: aborts running calls on stop, and refuses later ones', async () => {
  let stops = 0;
  const stop = async () => void (stops += 1);
  const capabilities = { ...EVERYTHING, maxConcurrency: 1 };
  const { fleet } = open(scripted({ createMachine: (_, o) => hanging(o), stop, capabilities }));
  const creation = rejection(fleet.createMachine(order(), live));
  await settled();
  const waiting = rejection(fleet.getMachine('a', live));
  await Promise.all([fleet.stop(), fleet.stop()]);
  expect(await creation).toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  expect(await waiting).toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  const later = [
    fleet.listMachines(live),
    fleet.getMachine('a', live),
    fleet.createMachine(order(), live),
    fleet.deprovisionMachine('a', live),
    fleet.prepare(live),
  ];
  for (const call of later) expect(await rejection(call)).toMatchObject({ kind: 'stopped' });
  expect(stops).toBe(1);
});

test('waits ten seconds for a driver that does not stop, and names it', async () => {
  const clock = createSimulatedClock();
  const driver = scripted({ stop: () => new Promise<never>(() => undefined) });
  const { fleet, log } = open(driver, {}, { clock });
  const stopped = fleet.stop();
  clock.increment(10_000);
  await stopped;
  expect(log.count('the driver did not stop within its time limit')).toBe(1);
  const failing = open(scripted({ stop: () => Promise.reject(new Error('no')) }));
  await failing.fleet.stop();
  const quick = createSimulatedClock();
  await open(scripted(), {}, { clock: quick }).fleet.stop();
  expect(quick.pending, 'nobody waits any more').toBe(0);
  expect(failing.log.count('the driver did not stop')).toBe(1);
});

test('serialises calls if the driver asks for that, and keeps to the budget', async () => {
  const clock = createSimulatedClock();
  const begun: [string, number][] = [];
  const getMachine: Provider['getMachine'] = async (id) => {
    begun.push([id, clock.monotonic()]);
    return machine(id);
  };
  const deprovisionMachine = async () => void begun.push(['destroy', clock.monotonic()]);
  const driver = scripted({ getMachine, deprovisionMachine });
  const { fleet } = open(driver, { callsPerSecond: 2 }, { clock, daemons: () => 2 });
  const all = [
    fleet.getMachine('a', live),
    fleet.getMachine('b', live),
    fleet.deprovisionMachine('c', live),
  ];
  for (let step = 0; step < 8; step++) {
    await settled();
    clock.increment(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  expect(begun, 'what gives a machine back goes first').toEqual([
    ['a', 0],
    ['c', 1_000],
    ['destroy', 2_000],
    ['b', 3_000],
  ]);
});

test('counts every call, with and without an error, in series that start at 0', async () => {
  const listMachines = () => Promise.reject(new ProviderError('auth', 'no'));
  const { fleet, metrics } = open(scripted({ listMachines }));
  for (const operation of ['List', 'Power']) {
    const labels = { provider: 'rack', operation };
    for (const error of ['0', '1']) {
      const begun = {
        how: 'count',
        name: 'driver_operations',
        labels: { ...labels, error },
        value: 0,
      };
      expect(metrics.calls).toContainEqual(begun);
    }
    expect(metrics.calls).toContainEqual({
      ...{ how: 'begin', name: 'shepherd_driver_operation_seconds', labels, value: 0 },
    });
  }
  await fleet.getMachine('a', live);
  await rejection(fleet.listMachines(live));
  expect(
    metrics.total('driver_operations', { provider: 'rack', operation: 'Get', error: '0' }),
  ).toBe(1);
  expect(
    metrics.total('driver_operations', { provider: 'rack', operation: 'List', error: '1' }),
  ).toBe(1);
  expect(
    metrics.total('shepherd_adapter_calls_total', { adapter: 'provider', op: 'Get', code: 'ok' }),
  ).toBe(1);
  expect(
    metrics.total('shepherd_adapter_calls_total', {
      adapter: 'provider',
      op: 'List',
      code: 'auth',
    }),
  ).toBe(1);
});

test('A4: does not count the wait in the queue of core calls against any limit', async () => {
  const clock = createSimulatedClock();
  const first = Promise.withResolvers<void>();
  const capabilities = { ...EVERYTHING, maxConcurrency: 1 };
  const getMachine: Provider['getMachine'] = async (id) => {
    if (id === 'a') await first.promise;
    return machine(id);
  };
  const { fleet } = open(scripted({ capabilities, getMachine }), {}, { clock });
  const before = fleet.getMachine('a', { ...live, timeoutMs: 10 * 60_000 });
  const waiting = fleet.getMachine('b', { ...live, timeoutMs: 1_000 });
  clock.increment(5 * 60_000);
  first.resolve();
  expect(await before).toMatchObject({ id: 'a' });
  expect(await waiting).toMatchObject({ id: 'b' });
});

test('A4: reports an abort after a request that may have been executed', async () => {
  const capabilities = { ...EVERYTHING, announces: true };
  const rebootMachine: Provider['rebootMachine'] = async (id, _mode, options) => {
    const { beforeSending } = options;
    options.requireOurs(machine(id));
    await beforeSending!();
    await beforeSending!().catch((cause: unknown) => {
      throw new ProviderError('transient', 'not sent again', { outcome: 'unknown', cause });
    });
    return { operationRef: 'x' };
  };
  const { fleet } = open(scripted({ capabilities, rebootMachine }));
  let checks = 0;
  const beforeSending = async () => {
    checks += 1;
    if (checks > 1) throw new UsageError('it came back');
  };
  const call = fleet.rebootMachine('a', 'force', { ...live, beforeSending });
  expect(await rejection(call)).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(checks).toBe(2);
});
