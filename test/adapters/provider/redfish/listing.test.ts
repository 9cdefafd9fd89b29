import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { redfishDriver } from '../../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../../src/adapters/provider/redfish/settings.ts';
import { parseInventory as parseStatic } from '../../../../src/adapters/provider/static/entries.ts';
import { targetOf } from '../../../../src/adapters/driver-kit/inventory/entries.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { INSTANCE_SET_ID } from '../driver-stand.ts';
import { testRows } from '../../../support/rows.ts';
import { entriesOf, failureOf, refusing, startRack } from './stand.ts';

test.each([
  ['two entries of one system', [{}, { ID: 'twin', Addr: '127.0.0.9' }], /"twin".*Bmc with System/],
  ['a login that is not known', [{ Credentials: 'nobody' }], /"system-1".*Credentials "nobody"/],
  ['a placeholder', [{ Serial: `FIX${'ME'}` }], /system-1.*Serial/],
  ['a key that is not known', [{ Serail: 'X' }], /"Serail" is unknown/],
  ['a path behind the host', [{ Bmc: 'https://10.0.0.1/redfish/v1' }], /Bmc.*without path/],
  ['a login in the URL', [{ Bmc: 'https://root:calvin@10.0.0.1' }], /Bmc/],
  ['a system elsewhere', [{ System: 'https://other/redfish/v1/Systems/1' }], /System/],
  [
    'two entries of one BMC, one without its system',
    [{}, { ID: 'b', Addr: '127.0.0.9', System: undefined }],
    /give each its System/,
  ],
])('vector 1: refuses an inventory with %s without a call', async (_what, changes, text) => {
  const rack = await startRack();
  const [first] = entriesOf(rack.fake);
  rack.page.text = JSON.stringify(changes.map((change) => ({ ...first, ...change })));
  const failure = await failureOf(rack.prepare());
  expect(failure.kind).toBe('invalid');
  expect(failure.text).toMatch(text);
  expect(failure.text).not.toContain('calvin');
  const directory = await mkdtemp(join(tmpdir(), 'redfish-inventory-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const inventory = join(directory, 'machines.json');
  await writeFile(inventory, rack.page.text);
  const settings = { ...rack.settings, inventory };
  const complaints = await redfishDriver.check!(settings, { hostKeyPolicy: 'tofu' });
  expect(complaints[0]).toMatchObject({ key: 'inventory', message: expect.stringMatching(text) });
  expect(rack.fake.requests()).toEqual([]);
});

test('the check warns of an installer that is not there', async () => {
  const { settings } = await startRack();
  const directory = await mkdtemp(join(tmpdir(), 'redfish-installer-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const name of ['linux', 'initrd', 'arguments']) await writeFile(join(directory, name), '');
  const install = { installer: directory } as Settings['install'];
  const check = async () =>
    (await redfishDriver.check!({ ...settings, install }, { hostKeyPolicy: 'tofu' }))[0];
  expect(await check()).toEqual({
    ...{ key: 'install', isWarning: true },
    message: expect.stringContaining(`${directory}, which has no installer.iso; run`),
  });
  await writeFile(join(directory, 'installer.iso'), '');
  expect((await check())?.key).not.toBe('install');
});

test('vector 2: changes nothing on a BMC with two systems and none named, and lists them all', async () => {
  const rack = await startRack({ systems: 2, bmcs: 1, others: [] });
  const [first] = entriesOf(rack.fake, () => ({ System: undefined }));
  rack.page.text = JSON.stringify([first]);
  for (const change of [() => rack.reboot(), () => rack.power('on')]) {
    expect(await failureOf(change())).toMatchObject({ kind: 'invalid' });
  }
  expect(rack.sent('PATCH')).toEqual([]);
  expect(rack.resets()).toEqual([]);
  expect(await rack.list()).toMatchObject({ complete: true, machines: [{ id: 'system-1' }] });
});

test('vector 24: completes a listing without the missing BMCs, with unknown power', async () => {
  const others = Array.from({ length: 5 }, (_, n) => ({
    ID: `dead-${n}`,
    Addr: `127.0.1.${n + 1}`,
    Bmc: `https://127.0.1.${n + 1}:1`,
  }));
  const rack = await startRack({ systems: 35, bmcs: 1, others });
  await rack.prepare();
  await rack.after(70_000);
  const seq = rack.fake.requests().at(-1)!.seq;
  const { machines, complete } = await rack.list();
  expect(complete).toBe(true);
  expect(machines).toHaveLength(40);
  const unknown = machines.filter(({ power }) => power === 'unknown').map(({ id }) => id);
  expect(unknown).toEqual(others.map(({ ID }) => ID));
  expect(rack.fake.requests(seq)).toEqual([]);
  expect(await rack.get('dead-0')).toMatchObject({ id: 'dead-0', power: 'unknown' });
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessionsMost: 1, requestsMost: 1 });
});

test('lists unknown power, and ends the call in time, if a BMC takes too long', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'latency', ms: 40_000 });
  const limit = new AbortController();
  const timer = rack.clock.setTimeout(() => limit.abort(new Error('too late')), 30_000);
  const call = rack.call({ signal: limit.signal, deadline: new Date(rack.clock.now() + 30_000) });
  const machine = await rack.inTime(rack.provider.getMachine('system-1', call));
  expect(machine).toMatchObject({ id: 'system-1', power: 'unknown' });
  rack.clock.clearTimeout(timer);
  rack.fake.clearFaults();
});

test('puts a BMC with a slow root aside, and reads it all the same', async () => {
  const rack = await startRack({ settings: { powerPoll: '1m' } });
  await rack.fault({ type: 'latency', ms: 7_000 });
  await rack.prepare();
  await rack.after(120_000);
  expect((await rack.list()).machines).toMatchObject([{ id: 'system-1', power: 'off' }]);
  expect(rack.log.count('a BMC reports no power state')).toBe(1);
  expect(rack.log.count('a BMC answers again')).toBe(1);
  rack.fake.clearFaults();
});

test('vector 25: does not treat a starting BMC with a root and no systems as absent', async () => {
  const rack = await startRack();
  await rack.prepare();
  await rack.get();
  await rack.fault({ type: 'bmcRestart', ms: 180_000 });
  const startMs = rack.clock.monotonic();
  for (; rack.clock.monotonic() - startMs < 160_000; await rack.after(10_000)) {
    expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'transient' });
    expect(await rack.get()).toMatchObject({ power: 'unknown' });
  }
  await rack.after(300_000);
  expect(await rack.get()).toMatchObject({ power: 'off' });
});

test('reports a system missing in three looks over two minutes as not found', async () => {
  const rack = await startRack({ entry: () => ({ System: '/redfish/v1/Systems/none' }) });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'transient' });
  await rack.after(60_000);
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'transient' });
  await rack.after(61_000);
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'not-found' });
  expect(await failureOf(rack.get('nobody'))).toMatchObject({ kind: 'not-found' });
});

test('D7: never reports a missing system as not found while the collection lists it', async () => {
  const rack = await startRack();
  const route = '/redfish/v1/Systems/{system}';
  await rack.fault({ type: 'status', code: 404 }, { match: { route } });
  for (let look = 1; look <= 5; look++) {
    expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'transient' });
    await rack.after(60_000);
  }
});

test('reads the power state without a manager', async () => {
  const rack = await startRack({ settings: { bmcReset: true, powerPoll: '1m' } });
  const route = '/redfish/v1/Managers/{manager}';
  await rack.fault({ type: 'status', code: 404 }, { match: { route } });
  await rack.prepare();
  await rack.after(120_000);
  const { machines } = await rack.list();
  expect(machines).toMatchObject([{ id: 'system-1', power: 'off' }]);
});

test("vector 29: keeps the owner's asset tag, and reports that once", async () => {
  const rack = await startRack({ settings: { ownerMark: 'assetTag', powerPoll: '1m' } });
  await rack.raw.ask('PATCH', rack.path, { body: { AssetTag: 'INV-0042' } });
  await rack.prepare();
  await rack.after(300_000);
  expect(rack.sent('GET').filter(({ path }) => path === rack.path).length).toBeGreaterThan(2);
  expect(rack.sent('PATCH')).toHaveLength(1);
  expect(rack.system().assetTag).toBe('INV-0042');
  expect(rack.log.count('a machine does not carry our mark')).toBe(1);
  expect(JSON.stringify(rack.log.lines)).not.toContain('INV-0042');
});

testRows([
  ['cut', { type: 'assetTag', length: 8 }],
  ['read only', refusing(400, 'PropertyNotWritable')],
] as const)(
  'tries a mark that the BMC does not keep (%s) once, and disowns no machine for it',
  async (_, effect) => {
    const rack = await startRack({ settings: { ownerMark: 'assetTag', powerPoll: '1m' } });
    await rack.fault(effect, { match: { method: 'PATCH' } });
    await rack.prepare();
    await rack.after(300_000);
    expect(rack.sent('PATCH')).toHaveLength(1);
    expect(rack.log.count('a machine does not carry our mark')).toBe(1);
    expect(Object.values((await rack.get()).tags!)).toEqual([INSTANCE_SET_ID]);
  },
);

test('reads power states again each period, and treats old ones as unknown', async () => {
  const rack = await startRack({ settings: { powerPoll: '1m' } });
  await rack.prepare();
  await rack.after(60_000);
  expect((await rack.list()).machines[0]).toMatchObject({ power: 'off', status: 'Stopped' });
  await rack.boot();
  await rack.after(75_000);
  expect((await rack.list()).machines[0]).toMatchObject({ power: 'on' });
  await rack.fault({ type: 'refuse' });
  await rack.after(75_000);
  expect((await rack.list()).machines[0]).toMatchObject({ power: 'unknown' });
  rack.fake.clearFaults();
  await rack.after(300_000);
  expect((await rack.list()).machines[0]).toMatchObject({ power: 'on' });
});

test('logs out from the BMCs of machines that left the list', async () => {
  const rack = await startRack({ systems: 2, settings: { refresh: '1m' } });
  await rack.get('system-1');
  await rack.get('system-2');
  rack.page.text = JSON.stringify(entriesOf(rack.fake).slice(1));
  await rack.after(61_000);
  expect((await rack.list()).machines).toHaveLength(1);
  await rack.after(1_000);
  expect(rack.fake.bmcs().map(({ sessions }) => sessions)).toEqual([0, 1]);
});

const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIL6uFrdinjM5XmlkkGNQn2lI7LS/9tWjwqoiargwCmfW';

test('accepts a list of the static driver with the same machines, ids, keys and addresses', async () => {
  // Static accepts this and this driver requires more: the certificate, if no authority signed it.
  const rack = await startRack({
    entry: (_machine, bmc) => ({
      Location: 'rack 7',
      SshUser: 'admin',
      HostKey: `ssh-ed25519 ${KEY}`,
      Bmc: bmc.url,
      System: undefined,
      Serial: undefined,
      CertSha256: undefined,
    }),
  });
  const [before] = parseStatic(rack.page.text);
  const [after] = (await rack.list()).machines;
  expect(after).toMatchObject({
    ...{ id: before!.id, reservationId: null, availability: 'PossiblyUsed', location: 'rack 7' },
    ...{ address: targetOf(before!), remoteUser: 'admin', hostKey: KEY },
    tags: { [SET_ID_TAG]: INSTANCE_SET_ID },
  });
});
