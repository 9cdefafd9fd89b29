import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { witness } from '../../../../../src/domain/ids.ts';
import { INSTANCE_SET_ID, publicKeyLine } from '../../driver-stand.ts';
import { testRows } from '../../../../support/rows.ts';
import { failureOf, IGNORED, refusing } from '../stand.ts';
import { type Installs, OTHER, SECRET, startInstalls, WITNESS } from './stand.ts';

test('claims a free machine, installs it from a virtual CD, and lets it report', async () => {
  const rack = await startInstalls({ machines: true });
  const { claim, create, free, hosts, media, resets, system, until } = rack;
  expect(await free()).toMatchObject({ id: null, availability: 'KnownUnused' });
  const machine = await create();
  expect(machine).toMatchObject({
    id: 'system-1.11112222',
    reservationId: 'system-1',
    availability: 'KnownUsed',
    status: 'Provisioning',
    tags: rack.tagsOf(WITNESS),
  });
  expect(resets()).toEqual(['On']);
  expect((await claim())?.install).toMatchObject({ phase: 'installing' });
  expect(media()[0]!.image).toMatch(/\/images\/[a-z2-7]{52}\.iso$/);
  await until(async () => (await claim())?.result !== null);
  expect((await claim())?.result).toMatchObject({ end: 'done' });
  await until(async () => (await claim())?.result?.isTidy === true);
  expect((await claim())?.install.sealed).toBe(null);
  expect(media()[0]!.image).toBe(null);
  expect(system().boot.enabled).toBe('Disabled');
  expect(hosts.list()[0]!.installs).toBe(1);
  await until(() => hosts.list()[0]!.up);
  expect(hosts.list()[0]!.disk).toMatchObject({ hostname: 'a1' });
  expect(await free()).toMatchObject({ id: 'system-1.11112222', power: 'on' });
  expect(JSON.stringify(await rack.record())).not.toContain(SECRET);
});

const MEDIA = '/redfish/v1/Managers/{manager}/VirtualMedia/{media}/Actions/VirtualMedia';
const text: unknown = expect.any(String);
const Image: unknown = expect.stringMatching(/\.iso$/);
const boots = (rack: Installs) =>
  rack.sent('PATCH').flatMap(({ body }) => {
    const { Boot: boot } = body as { Boot?: object };
    return boot ? [boot] : [];
  });
const inserted = (rack: Installs) =>
  rack.sent('POST').filter(({ route }) => route.endsWith('InsertMedia'));

test.each([
  ['supermicro', 'UsbCd'],
  ['supermicro-ars', 'Cd'],
] as const)('vector 19: sends %s the target %s with kind and mode', async (vendor, target) => {
  const rack = await startInstalls({ vendor });
  await rack.create();
  expect(boots(rack)).toEqual([
    {
      BootSourceOverrideTarget: target,
      BootSourceOverrideEnabled: 'Once',
      BootSourceOverrideMode: 'UEFI',
    },
  ]);
});

testRows([
  ['TransferProtocolType', 'generic', { Image, TransferProtocolType: 'HTTP' }],
  ['a login', 'dgx', { Image, UserName: text, Password: text }],
] as const)('vector 21: adds only %s to an insertion that lacks it', async (_, vendor, wanted) => {
  const rack = await startInstalls({ vendor });
  const refusal = refusing(400, 'ActionParameterMissing', 'TransferProtocolType is missing.');
  const match = { route: `${MEDIA}.InsertMedia` };
  if (vendor === 'generic') await rack.fault(refusal, { match, times: 1 });
  await rack.create();
  expect(inserted(rack).map(({ body }) => body)).toEqual([{ Image }, wanted]);
});

testRows([
  ['refuses it', { type: 'status', code: 405 }],
  ['accepts it and shows none', IGNORED],
] as const)('vector 22: inserts the image into the next drive if one %s', async (_, effect) => {
  const rack = await startInstalls({ vendor: 'idrac9' });
  const route =
    '/redfish/v1/Systems/{system}/VirtualMedia/{media}/Actions/VirtualMedia.InsertMedia';
  await rack.fault(effect, { match: { route }, times: 1 });
  await rack.create();
  expect(rack.media().map(({ image }) => image !== null)).toEqual([false, true]);
});

test('vector 23: changes a drive without actions by its resource, with every required field', async () => {
  const rack = await startInstalls({ vendor: 'lenovo' });
  await rack.create();
  const image = rack.media()[0]!.image;
  const [change] = rack.sent('PATCH');
  expect(change!.body).toEqual({ Image: image, Inserted: true, WriteProtected: true });
  expect(image).toMatch(/\.iso$/);
});

test('vector 27: lets one of two daemons create on a slot, and the other touch nothing', async () => {
  const rack = await startInstalls();
  const second = rack.open();
  const request = await rack.request();
  const other = { ...request, tags: rack.tagsOf(OTHER) };
  const ends = await rack.inTime(
    Promise.allSettled([
      rack.provider.createMachine(request, rack.call({ operationId: WITNESS })),
      second.createMachine(other, rack.call({ operationId: OTHER })),
    ]),
  );
  const lost = ends.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(lost.map(({ reason }) => (reason as { kind: string }).kind)).toEqual(['race-lost']);
  expect(rack.resets()).toEqual(['On']);
  expect(inserted(rack)).toHaveLength(1);
});

test('vector 30: serves seeds for the token of a running installation, and for one MAC at a time', async () => {
  const install = { method: 'pxe', bootUri: 'http://boot.test/{token}/boot.ipxe' };
  const rack = await startInstalls({ install });
  const { mac } = rack.system();
  const byMac = `/m/${mac}/ipxe`;
  await rack.free();
  expect((await rack.ask(byMac)).status).toBe(404);
  expect((await rack.ask(`/s/${'a'.repeat(52)}/user-data`)).status).toBe(404);
  await rack.create();
  // Of two concurrent requests one is answered.
  const scripts = await Promise.all([rack.ask(byMac), rack.ask(byMac)]);
  const [script, other] = scripts.toSorted((a, b) => a.status - b.status);
  expect([script!.status, other!.status]).toEqual([200, 404]);
  const token = /[a-z2-7]{52}/.exec(script!.text)![0];
  expect(script!.text).toBe(
    `#!ipxe\nset shepherd-seed ${rack.seedUrl}/s/${token}/\nchain http://boot.test/${token}/boot.ipxe\n`,
  );
  expect((await rack.ask(byMac)).status).toBe(404);
  const seed = await rack.ask(`/s/${token}/user-data`);
  expect(seed.text).toMatch(/^#cloud-config\n/);
  expect(parse(seed.text)).toMatchObject({
    hostname: 'a1',
    ssh_authorized_keys: [expect.stringContaining('ssh-ed25519') as unknown],
    runcmd: [expect.stringContaining(SECRET) as unknown],
    phone_home: { url: `${rack.seedUrl}/s/${token}/done` },
  });
  expect((await rack.ask(`/s/${token}/meta-data`)).text).toMatch(/^instance-id: system-1-\d+\n/);
  expect((await rack.ask(`/s/${token}/done`, 'POST')).status).toBe(200);
  expect((await rack.ask(`/s/${token}/user-data`)).status).toBe(404);
  expect((await rack.ask(byMac)).status).toBe(404);
  expect((await rack.ask(`/s/${token}/failed`, 'POST')).status).toBe(404);
  expect((await rack.ask(`/s/${token}/done`)).status).toBe(404);
  expect(JSON.stringify(rack.log.lines)).not.toMatch(new RegExp(`${token}|${SECRET}`));
});

test('vector 31: fails an overdue installation, and removes override and medium', async () => {
  const rack = await startInstalls({ install: { window: '10m' } });
  await rack.fault({ type: 'override', does: 'sticky' });
  const noBody = { match: { route: `${MEDIA}.EjectMedia` }, times: 1 };
  await rack.fault(refusing(400, 'MalformedJSON'), noBody);
  await rack.create();
  const token = rack.token();
  await rack.after(9 * 60_000);
  expect((await rack.claim())?.result).toBe(null);
  expect((await rack.ask(`/s/${token}/user-data`)).status).toBe(200);
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  expect((await rack.claim())?.result).toMatchObject({ end: 'failed' });
  expect(rack.system().boot.enabled).toBe('Disabled');
  expect(rack.media()[0]!.image).toBe(null);
  const ejected = rack.sent('POST').filter(({ route }) => route === `${MEDIA}.EjectMedia`);
  expect(ejected.map(({ body }) => body)).toEqual([null, {}]);
  expect(await rack.free()).toMatchObject({ failed: true, status: 'ProvisioningFailedPermanent' });
  expect((await rack.ask(`/s/${token}/user-data`)).status).toBe(404);
});

test('vector 34: treats our marks without a record as those of another database', async () => {
  const rack = await startInstalls();
  await rack.prepare();
  const body = { AssetTag: `shep:${INSTANCE_SET_ID}` };
  await rack.inTime(rack.raw.ask('PATCH', rack.path, { body }));
  const refused = await failureOf(rack.prepare());
  expect(refused.kind).toBe('conflict');
  expect(refused.text).toContain('system-1');
});

test('sets the address for UEFI HTTP boot, and removes it afterwards', async () => {
  const install = { method: 'uefihttp', bootUri: 'http://boot.test/{token}/boot.efi' };
  const rack = await startInstalls({ install });
  await rack.fault({ type: 'override', does: 'sticky' });
  await rack.create();
  const uri = rack.system().boot.httpBootUri!;
  expect(rack.system().boot).toMatchObject({ enabled: 'Once', target: 'UefiHttp', mode: 'UEFI' });
  const [token] = /[a-z2-7]{52}/.exec(uri)!;
  expect(uri).toBe(`http://boot.test/${token}/boot.efi`);
  await rack.ask(`/s/${token}/failed`, 'POST');
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  expect(rack.system().boot).toMatchObject({ enabled: 'Disabled', httpBootUri: null });
  expect(await rack.free()).toMatchObject({ failed: true });
});

test('writes to the settings resource of AMI, and sends nothing to old Dell firmware', async () => {
  const ami = await startInstalls({ vendor: 'ami' });
  await ami.create();
  expect(ami.system().boot).toMatchObject({ enabled: 'Once', target: 'Cd' });
  const dell = await startInstalls({ vendor: 'idrac10' });
  const refused = await failureOf(dell.create());
  expect(refused).toMatchObject({ kind: 'not-implemented', outcome: 'not-done' });
  expect(refused.text).toContain('2.10.10.10');
  expect(await dell.record()).toBe(undefined);
});

test('neither claims nor touches a swapped machine', async () => {
  const rack = await startInstalls();
  await rack.fault({ type: 'bladeSwapped', serial: 'OTHER', uuid: OTHER });
  expect(await failureOf(rack.create())).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect([rack.sent('POST').length, rack.sent('PATCH').length, await rack.record()]).toEqual([
    ...[1, 0, undefined],
  ]);
});

test('keeps the id of an installed machine, and finds it by its claim for every change', async () => {
  const rack = await startInstalls({ settings: { ownerMark: 'assetTag' } });
  const { id } = await rack.create();
  const { provider, inTime, call } = rack;
  const calls = call({ operationId: WITNESS });
  const other = provider.findByWitness!(witness(OTHER), 'system-1', calls);
  expect((await failureOf(inTime(other))).kind).toBe('race-lost');
  expect((await failureOf(rack.create({}, OTHER))).kind).toBe('race-lost');
  await rack.ask(`/s/${rack.token()}/done`, 'POST');
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  await inTime(provider.setTags(id!, { ...rack.tagsOf(WITNESS), 'shepherd-x': '1' }, calls));
  expect((await rack.claim())?.tags).toMatchObject({ 'shepherd-x': '1' });
  const order = {
    ...{ image: null, tags: { ...rack.tagsOf(WITNESS), 'shepherd-y': '2' } },
    ...{ initCommand: '#!/bin/sh', publicKey: publicKeyLine(1) },
  };
  await inTime(provider.reinstallMachine(id!, order, calls));
  expect(rack.resets()).toEqual(['On', 'ForceOff', 'On']);
  expect(await rack.get(id!)).toMatchObject({ status: 'Provisioning', tags: order.tags });
  expect(await inTime(provider.isReusable!('system-1', calls))).toBe(false);
  await inTime(provider.deprovisionMachine(id!, calls));
  const left = [await rack.record(), rack.media()[0]!.image, rack.system().power];
  expect(left).toEqual([undefined, null, 'Off']);
  const reboot = inTime(provider.rebootMachine(id!, 'force', calls));
  expect((await failureOf(reboot)).kind).toBe('not-found');
  expect(await inTime(provider.isReusable!('system-1', calls))).toBe(true);
  expect(await rack.free()).toMatchObject({ id: null, availability: 'KnownUnused' });
});

test('gives back a machine whose virtual media have vanished, and removes its claim', async () => {
  const rack = await startInstalls();
  const { id } = await rack.create();
  const route = '/redfish/v1/Managers/{manager}/VirtualMedia';
  await rack.fault({ type: 'status', code: 404 }, { match: { route } });
  await rack.inTime(rack.provider.deprovisionMachine(id!, rack.call({ operationId: WITNESS })));
  expect([await rack.record(), rack.resets()]).toEqual([undefined, ['On', 'ForceOff']]);
});
