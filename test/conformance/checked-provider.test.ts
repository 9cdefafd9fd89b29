import { expect, test } from 'vitest';
import { checkedProvider } from '../../src/conformance/checked-provider.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { EVERYTHING, fleetOf, live, machine, order, scripted } from '../doubles/scripted-driver.ts';

const checked = (methods: object) => fleetOf(checkedProvider('rack', scripted(methods))).fleet;

const ANNOUNCED = {
  ...{ type: 'maintenance-announced', status: 'True', reason: 'new switch', detail: '' },
};

const nested = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as unknown;

test.each([
  { availability: undefined },
  { id: undefined },
  { reservationId: undefined },
  { address: 12_345 },
  { address: nested },
  { status: 'Fine' },
  { power: 'maybe' },
  { plan: undefined },
  { hostname: Object.create(null) as unknown },
  { remoteUser: 5 },
  { hostKey: 7 },
  { failed: 'yes' },
  { spot: 1 },
  { tags: null },
  { tags: ['abc'] },
  { tags: { a: 1 } },
  { conditions: [{ ...ANNOUNCED, fromMs: '2026-03-01' }] },
  { conditions: [{ ...ANNOUNCED, fromMs: 8.65e15 }] },
])('refuses an entry with %o', async (change) => {
  const wrong = { ...machine('a'), ...change };
  const asked = {
    getMachine: async () => wrong,
    listMachines: async () => ({ machines: [machine('b'), wrong], complete: true }),
  };
  const failure = {
    kind: 'permanent',
    outcome: 'not-done',
    message: expect.stringContaining(Object.keys(change)[0]!) as string,
  };
  await expect(checked(asked).getMachine('a', live)).rejects.toMatchObject(failure);
  await expect(checked(asked).listMachines(live)).rejects.toMatchObject(failure);
});

test.each([null, {}, { machines: {}, complete: true }, { machines: [], complete: 'yes' }])(
  'refuses the listing %o',
  async (answer) => {
    const fleet = checked({ listMachines: async () => answer });
    await expect(fleet.listMachines(live)).rejects.toMatchObject({ kind: 'permanent' });
  },
);

test.each([
  ['findByWitness', 'not-done'],
  ['isReusable', 'not-done'],
  ['rebootMachine', 'unknown'],
  ['reinstallMachine', 'unknown'],
  ['setPower', 'unknown'],
  ['createMachine', 'unknown'],
  ['sweep', 'unknown'],
] as const)('%s without an answer leaves what was done %s', async (method, outcome) => {
  const fleet = checked({ [method]: async () => undefined });
  const calls = {
    findByWitness: () => fleet.findByWitness(order().witness, 's', live),
    isReusable: () => fleet.isReusable('s', live),
    rebootMachine: () => fleet.rebootMachine('a', 'force', live),
    reinstallMachine: () => fleet.reinstallMachine('a', live),
    setPower: () => fleet.setPower('a', 'on', live),
    createMachine: () => fleet.createMachine(order(), live),
    sweep: () => fleet.sweep({ ...live, dryRun: true }),
  };
  await expect(calls[method]()).rejects.toMatchObject({ kind: 'permanent', outcome });
});

test.each([undefined, 7, '', 'a\nb'])('refuses %o as a name', (answer) => {
  const fleet = checked({ capacityGroup: () => answer, hostnameFor: () => answer });
  const plan = { name: 'small', location: null, spot: false };
  for (const ask of [() => fleet.capacityGroup(plan), () => fleet.hostnameFor('s')]) {
    expect(ask).toThrow(/returned an invalid/);
  }
});

test.each([
  [{ power: true }, { setPower: undefined }, 'capabilities.power is true without a setPower'],
  [
    { resetController: true },
    { resetController: undefined },
    'capabilities.resetController is true without a resetController',
  ],
  [{ maxConcurrency: 0 }, {}, 'capabilities.maxConcurrency is not a whole number'],
  [{ reboot: undefined }, {}, 'capabilities.reboot is neither true nor false'],
])('refuses a driver that contradicts itself: %o %o', (change, methods, message) => {
  const open = () => checked({ ...methods, capabilities: { ...EVERYTHING, ...change } });
  expect(open).toThrow(UsageError);
  expect(open).toThrow(message);
});
