import { expect, test } from 'vitest';
import type { FleetProvider, Provider } from '../../../../src/adapters/provider/port.ts';
import { isProviderError } from '../../../../src/domain/errors.ts';
import { fleetOf, live, order, scripted, WITNESS } from '../../../doubles/scripted-driver.ts';

const plan = { name: 'small', location: null, spot: false };
const caught = (ask: () => unknown): unknown => {
  try {
    return ask();
  } catch (error) {
    return error;
  }
};

test.each<[string, () => unknown]>([
  ['throws', () => (undefined as unknown as { a: { b: string } }).a.b],
  ['tells undefined', () => undefined],
  ['tells a number', () => 7],
  ['tells nothing', () => ''],
  ['tells two lines', () => 'a\nb'],
])('a driver that %s instead of a name has made a mistake', (_, answer) => {
  const methods = { capacityGroup: answer, hostnameFor: answer } as Partial<Provider>;
  const { fleet } = fleetOf(scripted(methods));
  for (const ask of [() => fleet.capacityGroup(plan), () => fleet.hostnameFor('s')]) {
    const error = caught(ask);
    expect(isProviderError(error, 'permanent'), String(error)).toBe(true);
  }
});

test('without a host name of its own a slot is its host name', () => {
  expect(fleetOf(scripted()).fleet.hostnameFor('slot-1')).toBe('slot-1');
});

const accepted: [keyof Provider, (fleet: FleetProvider) => Promise<unknown>][] = [
  ['rebootMachine', (fleet) => fleet.rebootMachine('a', 'force', live)],
  ['reinstallMachine', (fleet) => fleet.reinstallMachine('a', live)],
  ['setPower', (fleet) => fleet.setPower('a', 'on', live)],
  ['createMachine', (fleet) => fleet.createMachine(order(), live)],
  ['sweep', (fleet) => fleet.sweep({ ...live, dryRun: true })],
];
test.each(accepted)('%s without an answer may have done something', async (method, call) => {
  const { fleet } = fleetOf(scripted({ [method]: async () => undefined }));
  await expect(call(fleet)).rejects.toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

const told: [keyof Provider, (fleet: FleetProvider) => Promise<unknown>][] = [
  ['getMachine', (fleet) => fleet.getMachine('a', live)],
  ['findByWitness', (fleet) => fleet.findByWitness(WITNESS, 's', live)],
  ['isReusable', (fleet) => fleet.isReusable('s', live)],
];
test.each(told)('%s without an answer tells nothing', async (method, call) => {
  const { fleet } = fleetOf(scripted({ [method]: async () => undefined }));
  await expect(call(fleet)).rejects.toMatchObject({ kind: 'permanent', outcome: 'not-done' });
});
