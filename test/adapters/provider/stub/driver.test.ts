import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { createStubDriver } from '../../../../src/adapters/provider/stub/driver.ts';
import { FAULT_KINDS, FAULTS } from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import {
  stubSettings,
  type StubSettings,
} from '../../../../src/adapters/provider/stub/settings.ts';
import { UsageError } from '../../../../src/domain/errors.ts';
import { callOf, driverContext } from '../driver-stand.ts';
import { freeCapacity } from './stand.ts';

const settings = (given: object = {}): StubSettings => stubSettings().parse(given);
const faultsOf = (given: object) =>
  (stubSettings().safeParse(given).error?.issues ?? []).map(({ path }) => path.join('.'));

const driver = createStubDriver();

function open(given: object = {}, name = 'stub'): Provider {
  const provider = driver.open(settings(given), driverContext(name, { clock: systemClock }));
  onTestFinished(() => provider.stop());
  return provider;
}
const idsOf = async (provider: Provider) =>
  (await provider.listMachines({}, callOf())).machines.map(
    ({ id, reservationId }) => id ?? reservationId,
  );

async function createOn(provider: Provider, reservationId: string) {
  const unused = freeCapacity(reservationId);
  const order = { unused, hostname: 'stub-1', plan: 'stub.small', image: null, tags: {} };
  const more = { initCommand: '', publicKey: '', resumed: false, onAttempt: async () => undefined };
  return provider.createMachine({ ...order, ...more }, callOf({ operationId: 'witness' }));
}

test('nothing need be said of it', async () => {
  expect(await idsOf(open())).toHaveLength(4);
});

test('plans, capabilities and faults are what the settings say', async () => {
  const provider = open({
    plans: [
      { name: 'c3', location: 'm1', reservations: 2 },
      { name: 'c3', location: 'm1', spot: true, reservations: 1 },
    ],
    without: ['hostKey', 'power'],
    maxConcurrency: 3,
    faults: [{ fault: 'call-fails', operation: 'get', times: 1 }],
  });
  const { machines } = await provider.listMachines({}, callOf());
  expect(machines.map(({ plan, location, spot }) => [plan, location, spot])).toEqual([
    ['c3', 'm1', false],
    ['c3', 'm1', false],
    ['c3', 'm1', true],
  ]);
  expect(provider.capabilities).toMatchObject({ power: false, tags: true, maxConcurrency: 3 });
  const off = provider.setPower!('x', 'off', callOf());
  await expect(off).rejects.toMatchObject({ code: 'not-implemented' });
  await expect(provider.getMachine('x', callOf())).rejects.toMatchObject({ code: 'transient' });
  await expect(provider.getMachine('x', callOf())).rejects.toMatchObject({ code: 'not-found' });
});

test('the same seed names the same capacity; another seed another', async () => {
  const ids = await idsOf(open({}, 'one'));
  expect(await idsOf(open({}, 'two'))).toEqual(ids);
  expect(await idsOf(open({ seed: 2 }, 'three'))).not.toEqual(ids);
});

test('two that are open at once see the same machines; others do not', async () => {
  const [one, two, other] = [open(), open(), open({}, 'other')];
  const [free] = await idsOf(one);
  const { id } = await createOn(one, free!);
  expect(await idsOf(two)).toContain(id);
  expect(await idsOf(other)).not.toContain(id);
  await one.stop();
  await one.stop();
  expect(await idsOf(two)).toContain(id);
  await two.stop();
  expect(await idsOf(open())).not.toContain(id);
});

test('an inventory is all there from the start, and nothing is made of it', async () => {
  const provider = open({ stateless: true });
  const { machines } = await provider.listMachines({}, callOf());
  for (const machine of machines) {
    expect(machine).toMatchObject({ availability: 'PossiblyUsed', status: 'Running' });
  }
  expect(provider.capabilities).toMatchObject({ create: false, deprovision: false, reboot: true });
  const creation = createOn(provider, machines[0]!.id!);
  await expect(creation).rejects.toMatchObject({ code: 'not-implemented' });
});

test('host keys without machines are a contradiction', () => {
  expect(() => open({ without: [] })).toThrow(UsageError);
  expect(() => open({ without: [], ssh: true })).not.toThrow();
});

test('every fault can be written in a configuration, where it strikes', () => {
  for (const fault of FAULT_KINDS) {
    const { at, operations } = FAULTS[fault];
    expect(faultsOf({ faults: [{ fault, chance: 0.5 }] })).toEqual([]);
    const operation = operations?.[0] ?? 'get';
    const expected = at === 'call' ? [] : ['faults.0.operation'];
    expect(faultsOf({ faults: [{ fault, operation }] })).toEqual(expected);
  }
  expect(faultsOf({ faults: [{ fault: 'quota', operation: 'list' }] })).toEqual([
    'faults.0.operation',
  ]);
});

test.each<[object, string]>([
  [{ faults: [{ fault: 'no-such' }] }, 'faults.0.fault'],
  [{ faults: [{ fault: 'hangs', chance: 2 }] }, 'faults.0.chance'],
  [{ faults: [{ fault: 'hangs', calls: [0] }] }, 'faults.0.calls.0'],
  [{ plans: [{ location: 'm1' }] }, 'plans.0.name'],
  [{ without: ['everything'] }, 'without.0'],
  [{ devicePrefix: 'No-' }, 'devicePrefix'],
])('%j is a mistake at %s', (given, path) => {
  expect(faultsOf(given)).toEqual([path]);
});
