import { expect, test } from 'vitest';
import { leadsElsewhere } from '../../../../src/adapters/provider/redfish/changes.ts';
import type { System } from '../../../../src/adapters/provider/redfish/client/system.ts';
import type { BmcEntry } from '../../../../src/adapters/provider/redfish/entries.ts';
import { patienceOf } from '../../../../src/adapters/provider/redfish/power.ts';
import { checkIdentity } from '../../../../src/adapters/provider/redfish/rack.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { PROVIDER } from '../../../support/facts.ts';
import { createProvisionStand } from '../../../support/provision-stand.ts';
import { testRows } from '../../../support/rows.ts';
import { failureOf, refusing, startRack, fleetOf, type Rack } from './stand.ts';

const RESETS = { match: { route: '/redfish/v1/Systems/{system}/Actions/ComputerSystem.Reset' } };
const CONFLICT = refusing(409, 'ActionParameterValueConflict');

test('vector 12: does not switch off a machine that is off', async () => {
  const rack = await startRack();
  await rack.power('off');
  expect(rack.resets()).toEqual([]);
});

test('vector 13: treats a refusal because the machine is off as success', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'powerState', shows: 'On' }, { times: 1 });
  await rack.fault(CONFLICT, RESETS);
  await rack.power('off');
  expect(rack.resets()).toEqual(['ForceOff']);
});

testRows([
  ['a while', 3, 4],
  ['ever', undefined, 7],
] as const)('vector 14: repeats an On that is refused for %s', async (_, times, sent) => {
  const rack = await startRack();
  await rack.fault(CONFLICT, { ...RESETS, times });
  const startMs = rack.clock.monotonic();
  const ended = rack.power('on');
  if (times === undefined) expect(await failureOf(ended)).toMatchObject({ kind: 'conflict' });
  else expect(Math.round(((await ended.then(rack.clock.monotonic)) - startMs) / 10_000)).toBe(3);
  expect(rack.resets()).toEqual(Array(sent).fill('On'));
  expect(rack.asked.filter((one) => one === 'before')).toHaveLength(sent);
});

test.each(['on', 'off'] as const)(
  'succeeds in switching %s when the answer is lost and the machine was switched',
  async (want) => {
    const rack = await startRack();
    if (want === 'off') await rack.boot();
    await rack.fault({ type: 'drop', phase: 'after' }, RESETS);
    await rack.power(want);
    expect(rack.resets()).toHaveLength(1);
  },
);

test('presses the power button only if the machine is certainly off', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'allowableValues', values: ['PushPowerButton'] });
  await rack.fault({ type: 'powerState', shows: null }, { times: 1 });
  expect(await failureOf(rack.power('on'))).toMatchObject({ kind: 'not-implemented' });
  await rack.power('on');
  expect(rack.resets()).toEqual(['PushPowerButton']);
});

test('waits for a pushed button as long as for a switch, also if the BMC lists no resets', () => {
  const blind = { power: 'Off', lastResetMs: null, progress: null, readAtMs: null };
  expect(patienceOf('PushPowerButton', blind)).toBe(60_000);
  expect(patienceOf('On', blind)).toBe(60_000);
  expect(patienceOf('ForceRestart', blind)).toBe(10_000);
});

test('vector 32: follows a change that runs as a task to its end', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'task', does: 'ends', ms: 5_500, retryAfterS: 2 });
  const startMs = rack.clock.monotonic();
  const { operationRef } = await rack.power('on');
  expect(Math.round((rack.clock.monotonic() - startMs) / 1_000)).toBe(6);
  expect(operationRef).toMatch(/^On system-1 \S+ \/redfish\/v1\/TaskService\/TaskMonitors\/\d+$/);
});

test('vector 32: judges a vanished task by the state', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'task', does: 'vanishes', ms: 1_500, retryAfterS: 1 });
  await rack.power('on');
  expect(rack.system().power).toBe('On');
});

test('vector 32: ends an endless task with the call, by the state', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'task', does: 'neverEnds' });
  const soon = () => rack.call({ deadline: new Date(rack.clock.now() + 20_000) });
  await rack.power('off', soon());
  await rack.fault({ type: 'powerState', shows: 'Off' });
  expect(await failureOf(rack.power('on', soon()))).toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
  });
});

test('vector 33: does not treat a machine that is powering off as off', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'powerState', shows: 'PoweringOff' });
  for (let n = 0; n < 9; n++) {
    expect(await rack.get()).toMatchObject({ power: 'unknown', status: 'Stopped' });
    await rack.after(10_000);
  }
});

const MINUTE = 60_000;

test.each([
  ['answer nothing', { type: 'hang', phase: 'before' }],
  ['take 25 s for each request', { type: 'latency', ms: 25_000 }],
] as const)(
  'D9: adopts 21 of 171 machines within two minutes while 150 BMCs %s',
  async (_, effect) => {
    const stand = createProvisionStand();
    const systems = Array.from({ length: 171 }, (_none, n) => `system-${n + 1}`);
    const good = systems.filter((_name, n) => n % 8 === 7);
    expect(good).toHaveLength(21);
    const rack = await startRack({
      ...{ virtual: stand.clock, systems: systems.length, context: { name: PROVIDER } },
      settings: { powerPoll: '5m' },
    });
    for (const system of systems) {
      if (!good.includes(system)) await rack.fault(effect, { match: { system } });
    }
    const life = await stand.life({ provider: fleetOf(rack), limits: { chunkSize: 20 } });
    const chart = life.chart();
    await advance(stand.clock, 2 * MINUTE);
    const taken = stand.machines().map(({ provided }) => provided?.providerId);
    expect(taken).toEqual(expect.arrayContaining(good));
    chart.stop();
  },
);

const BMC_RESET = '/redfish/v1/Managers/{manager}/Actions/Manager.Reset';
const restarts = (rack: Rack) =>
  rack.sent('POST').filter(({ route, executed }) => route === BMC_RESET && executed);
const controllerOf = async (rack: Rack) => (await rack.get()).controller;
const restart = (rack: Rack, how = rack.call()) =>
  rack.inTime(rack.provider.resetController!('system-1', how));
const counts = (rack: Rack) =>
  rack.metrics.calls
    .filter(({ name }) => name === 'redfish_bmc_unresponsive')
    .map(({ value }) => value);

/** Reads end in 500. Posts get through. */
async function hang(rack: Rack, bmc: string) {
  const match = { bmc, method: 'GET', route: '/redfish/v1/Systems/{system}' };
  return rack.fault({ type: 'status', code: 500 }, { match });
}

test('reports a BMC that accepts connections and answers nothing, and leaves it alone if no more is allowed', async () => {
  const rack = await startRack({ systems: 2 });
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await hang(rack, 'bmc-1');
  await rack.after(60 * MINUTE);
  expect(counts(rack)).toEqual([1]);
  expect(rack.log.count('a BMC accepts connections but answers nothing')).toBe(1);
  expect(restarts(rack)).toEqual([]);
  expect(await controllerOf(rack)).toBeUndefined();
  expect(rack.provider.capabilities.resetController).toBe(false);
  expect(rack.provider.resetController).toBeUndefined();
  rack.fake.clearFaults();
  await rack.after(10 * MINUTE);
  expect(counts(rack)).toEqual([1, 0]);
});

test('does not treat a BMC that refuses connections as hanging', async () => {
  const rack = await startRack({ settings: { bmcReset: true } });
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await rack.fault({ type: 'refuse' });
  await rack.after(60 * MINUTE);
  expect(counts(rack)).toEqual([]);
});

const MAY = { settings: { bmcReset: true } };
/** Every read of the first BMC fails for long enough to be noticed. */
async function hung(options: Parameters<typeof startRack>[0] = MAY): Promise<Rack> {
  const rack = await startRack(options);
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await rack.fault({ type: 'bmcHangs' }, { match: { bmc: 'bmc-1' } });
  await rack.after(60 * MINUTE);
  return rack;
}

test('shows a BMC as hanging, restarts it on an order, and shows it as healthy once it answers', async () => {
  const rack = await hung();
  const { id } = (await controllerOf(rack))!;
  expect(id).toBe(new URL(rack.fake.bmcs()[0]!.url).host);
  expect(await rack.get()).toMatchObject({ power: 'unknown', controller: { id, hangs: true } });
  expect((await rack.list()).machines).toMatchObject([{ controller: { id, hangs: true } }]);
  expect(restarts(rack), 'by itself').toEqual([]);
  const { operationRef } = await restart(rack);
  expect(operationRef).toMatch(/^GracefulRestart https:/);
  expect(rack.asked).toEqual(['ours system-1', 'before']);
  expect(restarts(rack)).toMatchObject([{ body: { ResetType: 'GracefulRestart' } }]);
  expect(await controllerOf(rack), 'an accepted request is no evidence').toMatchObject({
    hangs: true,
  });
  await rack.after(MINUTE / 2);
  expect(await controllerOf(rack), 'nor is one that is not there').toMatchObject({ hangs: true });
  await rack.after(10 * MINUTE);
  expect(await rack.get()).toMatchObject({ power: 'off', controller: { id, hangs: false } });
  expect(counts(rack)).toEqual([1, 0]);
  expect(await failureOf(restart(rack)), 'it answers').toMatchObject({ kind: 'conflict' });
});

test('sends nothing if the machine is foreign, or the request was withdrawn', async () => {
  const rack = await hung();
  const no = () => Promise.reject(new Error('no'));
  const foreign = () => {
    throw new Error('foreign');
  };
  await expect(restart(rack, rack.call({ beforeSending: no }))).rejects.toThrow('no');
  await expect(restart(rack, rack.call({ requireOurs: foreign }))).rejects.toThrow('foreign');
  expect(restarts(rack)).toEqual([]);
});

test('blames the network if other BMCs fall silent, and restarts none', async () => {
  const rack = await hung({ systems: 3, ...MAY });
  await hang(rack, 'bmc-2');
  await rack.after(10 * MINUTE);
  expect(counts(rack)).toEqual([1]);
  expect(await failureOf(restart(rack))).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(restarts(rack)).toEqual([]);
  rack.fake.clearFaults();
  await rack.after(10 * MINUTE);
  await restart(rack);
  expect(restarts(rack)).toHaveLength(1);
});

test('shows a hanging BMC as unreachable once it refuses connections', async () => {
  const rack = await hung();
  await rack.fault({ type: 'refuse' });
  await rack.after(30 * MINUTE);
  expect(await controllerOf(rack)).toMatchObject({ hangs: false });
  expect(counts(rack)).toEqual([1, 0]);
});

const STAYS = ['None', 'Hdd', 'BiosSetup'];
const TARGETS = {
  /** The values of BootSource in the schema of ComputerSystem. */
  'the standard':
    'None Pxe Floppy Cd Usb Hdd BiosSetup Utilities Diags UefiShell UefiTarget SDCard UefiHttp RemoteDrive UefiBootNext Recovery',
  /** As listed by the BMC of an X10. */
  Supermicro:
    'None Pxe Hdd Diags CD/DVD BiosSetup FloppyRemovableMedia UsbKey UsbHdd UsbFloppy UsbCd UefiUsbKey UefiCd UefiHdd UefiUsbHdd UefiUsbCd',
};

test.each(Object.entries(TARGETS))(
  'D5: treats every target of %s as elsewhere, except none, the disk and BIOS setup',
  (_whose, told) => {
    const targets = told.split(' ');
    const boot = { mode: null, httpBootUri: null, targets };
    const elsewhere = (enabled: string) =>
      targets.filter((target) => leadsElsewhere({ ...boot, enabled, target }));
    for (const enabled of ['Once', 'Continuous']) {
      expect(elsewhere(enabled)).toEqual(targets.filter((target) => !STAYS.includes(target)));
    }
    expect(elsewhere('Disabled')).toEqual([]);
  },
);

const look = (serial: string, system: Partial<System>) => () =>
  checkIdentity(
    { id: 'a', bmc: 'https://bmc', serial, uuid: null } as BmcEntry,
    { serial: null, sku: null, uuid: null, manufacturer: null, ...system } as System,
  );

test('identifies a Dell by its service tag and by the serial number of its board', () => {
  const dell = { manufacturer: 'Dell Inc.', serial: 'CNFCP0079500EV', sku: '5N5CKX2' };
  expect(look('5N5CKX2', dell)()).toBe('same');
  expect(look('CNFCP0079500EV', dell)()).toBe('same');
  expect(look('5N5CKX3', dell)).toThrow('serial number');
});

test('does not identify other machines by the product number, which a whole model shares', () => {
  const hpe = { manufacturer: 'HPE', serial: 'MXQ0000001', sku: '868703-B21' };
  expect(look('MXQ0000001', hpe)()).toBe('same');
  expect(look('868703-B21', hpe)).toThrow('serial number');
  expect(look('868703-B21', { ...hpe, serial: null })()).toBe('unproved');
});
