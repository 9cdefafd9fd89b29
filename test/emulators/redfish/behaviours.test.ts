import { expect, test } from 'vitest';
import type { Boot } from '../../../emulators/redfish/power.ts';
import { VENDOR_NAMES, type VendorName } from '../../../emulators/redfish/vendors.ts';
import { testRows } from '../../support/rows.ts';
import {
  type RedfishRequest,
  messagesOf,
  type RedfishReply,
  ROOT,
  SESSIONS,
  startBmcs,
} from './harness.ts';

const IMAGE = 'https://images.test/installer.iso';
const VM = 'VirtualMedia';
const PLACES: Readonly<Record<VendorName, readonly [system: string, disc: string]>> = {
  generic: ['Systems/1', `Managers/BMC/${VM}/Cd`],
  idrac9: ['Systems/System.Embedded.1', `Systems/System.Embedded.1/${VM}/1`],
  idrac10: ['Systems/System.Embedded.1', `Systems/System.Embedded.1/${VM}/1`],
  ilo5: ['Systems/1/', `Managers/1/${VM}/2/`],
  supermicro: ['Systems/1', `Managers/1/${VM}/VirtualMedia1`],
  openbmc: ['Systems/system', `Managers/bmc/${VM}/Slot_0`],
  lenovo: ['Systems/1', `Managers/1/${VM}/EXT1`],
  'supermicro-ars': ['Systems/1', `Managers/1/${VM}/VirtualMedia1`],
  ami: ['Systems/Self', `Managers/Self/${VM}/Cd`],
  dgx: ['Systems/DGX', `Managers/BMC/${VM}/Cd`],
};
const actionOf = (path: string, name: string) =>
  path.endsWith('/') ? `${path}Actions/${name}/` : `${path}/Actions/${name}`;
function placesOf(vendor: VendorName) {
  const [system, disc] = PLACES[vendor].map((place) => `${ROOT}/${place}`) as [string, string];
  return {
    ...{ system, disc },
    reset: actionOf(system, 'ComputerSystem.Reset'),
    insert: actionOf(disc, `${VM}.InsertMedia`),
    eject: actionOf(disc, `${VM}.EjectMedia`),
  };
}
const answerOf = (reply: RedfishReply) => [reply.status, ...messagesOf(reply)].join(' ');

const boot = (more: object) => ({ Boot: more });
const ONCE = { BootSourceOverrideEnabled: 'Once' };
const PXE = { BootSourceOverrideTarget: 'Pxe' };
const LOGIN = `POST ${SESSIONS}`;
const none = { auth: 'none' } as const;
const headers = (name: string, value: string) => ({ headers: { [name]: value } });

/** A request, its status and messages, its body, and other parts. */
type BehaviourRow = [
  vendor: VendorName,
  ask: string,
  answer: string,
  body?: unknown,
  more?: RedfishRequest,
];
const ANSWERS: readonly BehaviourRow[] = [
  ['generic', `GET ${ROOT}/`, '200', undefined, none],
  ['generic', 'GET {system}', '401 NoValidSession', undefined, none],
  ['generic', 'GET {system}', '401 ResourceAtUriUnauthorized', undefined, { auth: 'wrong' }],
  ['generic', 'GET {system}', '401 NoValidSession', undefined, { auth: { token: 'made-up' } }],
  ['generic', `GET ${ROOT}/Nowhere`, '401 NoValidSession', undefined, none],
  ['generic', `GET ${ROOT}/Nowhere`, '404 ResourceMissingAtURI'],
  ['generic', `GET ${ROOT}/Systems/2`, '404 ResourceMissingAtURI'],
  ['generic', 'DELETE {system}', '405 OperationNotAllowed'],
  ['generic', 'PATCH {system}', '415 GeneralError', 'x', headers('content-type', 'text/plain')],
  ['generic', 'PATCH {system}', '412 PreconditionFailed', {}, headers('if-match', '"0"')],

  ['generic', LOGIN, '400 MalformedJSON', undefined, none],
  ['generic', LOGIN, '400 MalformedJSON', '{', none],
  ['generic', LOGIN, '400 MalformedJSON', [], none],
  ['generic', LOGIN, '400 PropertyMissing', { UserName: 'admin' }, none],
  ['generic', LOGIN, '400 PropertyUnknown', { UserName: 'a', Password: 'b', Role: 'x' }, none],

  ['generic', 'PATCH {system}', '400 PropertyUnknown', { Colour: 'red' }],
  ['generic', 'PATCH {system}', '400 PropertyNotWritable', { SerialNumber: 'X' }],
  ['generic', 'PATCH {system}', '400 PropertyValueTypeError', { AssetTag: null }],
  ['generic', 'PATCH {system}', '400 PropertyValueTypeError', boot({ HttpBootUri: 1 })],
  ['generic', 'PATCH {system}', '400 PropertyUnknown', boot({ Order: 1 })],
  ['supermicro', 'PATCH {system}', '400 PropertyMissing', boot(PXE)],
  [
    'idrac9',
    'PATCH {system}',
    '400 PropertyValueNotInList',
    boot({ ...ONCE, ...PXE, ...{ BootSourceOverrideTarget: 'Floppy' } }),
  ],
  ['ami', 'PATCH {system}', '400 OperationSupportedInFutureStateURI', boot({ ...ONCE, ...PXE })],
  ['ami', 'PATCH {system}/SD', '400 PropertyMissing', boot({ ...ONCE, ...PXE })],

  ['generic', 'POST {reset}', '400 ActionParameterMissing', {}],
  ['generic', 'POST {reset}', '400 ActionParameterValueTypeError', { ResetType: 1 }],
  ['generic', 'POST {reset}', '400 ActionParameterUnknown', { ResetType: 'On', Force: true }],
  ['generic', 'POST {reset}', '409 ResourceInUse', { ResetType: 'ForceRestart' }],
  ['idrac9', 'POST {reset}', '400 ActionParameterValueNotInList', { ResetType: 'GracefulRestart' }],

  ['generic', 'POST {insert}', '400 ActionParameterMissing', {}],
  ['supermicro', 'POST {insert}', '400 ActionParameterUnknown', { Image: IMAGE, Inserted: true }],
  ['dgx', 'POST {insert}', '400 ActionParameterMissing ActionParameterMissing', { Image: IMAGE }],
  ['generic', 'PATCH {disc}', '405 OperationNotAllowed', { Image: IMAGE }],
  ['lenovo', 'POST {insert}', '404 ResourceMissingAtURI', { Image: IMAGE }],
  ['lenovo', 'PATCH {disc}', '400 PropertyMissing PropertyMissing', { Image: IMAGE }],
  ['ilo5', `GET ${ROOT}/Systems/1`, '308'],
];

/** No row changes anything, so the table's emulators are made once. */
const shared: Partial<Record<VendorName, ReturnType<typeof startBmcs>>> = {};

testRows(ANSWERS)('%s answers %s with %s', async (vendor, asked, answer, body, more = {}) => {
  const { ask, system } = await (shared[vendor] ??= startBmcs({ vendor }));
  const before = await system();
  const places: Readonly<Record<string, string>> = placesOf(vendor);
  const filled = asked.replaceAll(/\{(\w+)\}/g, (_, name: string) => places[name]!);
  const [method, path] = filled.split(' ') as [string, string];
  const reply = await ask(method, path, { body, ...more });
  expect(answerOf(reply)).toBe(answer);
  expect(await system()).toEqual(before);
});

/** Records what is booted. */
function recorder() {
  const boots: Boot[] = [];
  const hooks = {
    down: async () => undefined,
    boot: async (_name: string, told: Boot) => void boots.push(told),
  };
  return { boots, hooks };
}

testRows(VENDOR_NAMES)('%s has one disc in a drive, and boots it', async (vendor) => {
  const { boots, hooks } = recorder();
  const { ask, start } = await startBmcs({ vendor, hooks });
  const { system, disc, insert, eject } = placesOf(vendor);
  const isPatched = vendor === 'lenovo';
  const login = vendor === 'dgx' ? { UserName: 'none', Password: 'none' } : {};
  const put = {
    Image: IMAGE,
    ...login,
    ...(isPatched && { Inserted: true, WriteProtected: true }),
  };
  const statuses: number[] = [];
  for (const body of [put, put, null, put]) {
    const change = isPatched
      ? ask('PATCH', disc, { body: body ?? { Image: null, Inserted: false } })
      : ask('POST', body ? insert : eject, body ? { body } : {});
    statuses.push((await change).status);
    const shown = { Image: body && IMAGE, Inserted: body !== null };
    expect((await ask('GET', disc)).body).toMatchObject(shown);
  }
  expect(statuses).toEqual(isPatched ? [200, 409, 200, 200] : [204, 409, 204, 204]);
  const target = vendor === 'supermicro' ? 'UsbCd' : 'Cd';
  const wanted = { ...ONCE, BootSourceOverrideTarget: target, BootSourceOverrideMode: 'UEFI' };
  const place = vendor === 'ami' ? `${system}/SD` : system;
  expect((await ask('PATCH', place, { body: boot(wanted) })).status).toBeLessThan(300);
  expect((await ask('GET', system)).body['Boot']).toMatchObject(wanted);
  await start();
  expect(boots).toEqual([{ source: target, address: IMAGE }]);
});

test('uses up a one-time override at the boot, and keeps a continuous one', async () => {
  const { boots, hooks } = recorder();
  const { fake, override, start, system } = await startBmcs({ hooks });
  await override({ ...ONCE, ...PXE });
  await start();
  const over = { BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' };
  expect((await system())['Boot']).toMatchObject(over);
  const address = 'http://seed.test/boot.efi';
  const http = { BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: address };
  await override({ ...http, BootSourceOverrideEnabled: 'Continuous' });
  for (let n = 0; n < 2; n++) {
    fake.reset('system-1', 'ForceRestart');
    await fake.advance(60_000);
  }
  await override({ BootSourceOverrideEnabled: 'Disabled', HttpBootUri: null });
  fake.reset('system-1', 'ForceRestart');
  await fake.advance(60_000);
  const netBoot = { source: 'UefiHttp', address };
  const pxe = { source: 'Pxe', address: null };
  expect(boots).toEqual([pxe, netBoot, netBoot, { source: 'Hdd', address: null }]);
});

test('tells the host of every boot and every end, one after another, and survives its error', async () => {
  const told: string[] = [];
  const { fake, reset, system } = await startBmcs({
    profile: 'fast',
    hooks: {
      down: async (name) => void told.push(`${name} down`),
      boot: async (name) => {
        told.push(`${name} boots`);
        if (told.length === 1) throw new Error('no disk');
      },
    },
  });
  await reset('On');
  await fake.advance(620);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSBootStarted' } });
  await reset('ForceRestart');
  await fake.advance(600);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSRunning' } });
  await reset('ForceOff');
  await fake.advance(0);
  expect(told).toEqual(['boots', 'down', 'boots', 'down'].map((what) => `system-1 ${what}`));
});

test('a BMC restart: answers nobody, then serves the root alone, then all; its systems continue', async () => {
  const { fake, ask, login, path, start } = await startBmcs();
  await start();
  await login();
  const body = { ResetType: 'ForceRestart' };
  const manager = `${ROOT}/Managers/BMC`;
  expect((await ask('POST', `${manager}/Actions/Manager.Reset`, { body })).status).toBe(204);
  await expect(ask('GET', ROOT)).rejects.toThrow(/socket|ECONNRESET/);
  await fake.advance(30_000);
  expect((await ask('GET', ROOT)).status).toBe(200);
  expect((await ask('GET', path)).status).toBe(404);
  const busy = await ask('GET', manager);
  expect([busy.status, busy.headers['retry-after']]).toEqual([503, '10']);
  await fake.advance(60_000);
  expect((await ask('GET', path)).body).toMatchObject({ PowerState: 'On' });
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
});

test('shows, uses and ends a session; use extends it, and there is room for sixteen', async () => {
  const { fake, ask, login } = await startBmcs();
  const made = await login();
  for (let n = 1; n < 16; n++) expect((await login()).status).toBe(201);
  expect(answerOf(await login())).toBe('503 SessionLimitExceeded');
  const auth = { token: String(made.headers['x-auth-token']) };
  const place = String(made.headers.location);
  for (const _ of [1, 2]) {
    await fake.advance(599_000);
    expect((await ask('GET', place, { auth })).body).toMatchObject({ UserName: 'admin' });
  }
  expect((await ask('GET', SESSIONS, { auth })).body).toMatchObject({ 'Members@odata.count': 1 });
  expect((await ask('DELETE', place, { auth })).status).toBe(204);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(401);
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 16 });
  const journal = fake.requests();
  expect(JSON.stringify(journal)).not.toContain(fake.credentials.password);
  expect(journal.at(-1)).toMatchObject({ bmc: 'bmc-1', auth: 'session', status: 401 });
});

test('shows the health that was set, and the log of it', async () => {
  const { fake, ask } = await startBmcs();
  const { system } = placesOf('generic');
  const get = (path: string) => ask('GET', path);
  expect((await get(system)).body['Status']).toMatchObject({ HealthRollup: 'OK' });
  const set = async (name: string, body: object) => {
    const headers = { 'x-fake-admin': fake.adminToken, 'content-type': 'application/json' };
    const url = `${fake.adminUrl}/systems/${name}/health`;
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };
  expect(await set('system-1', { health: 'Critical', message: 'fan 1 failed' })).toBe(200);
  expect(await set('system-1', { health: 'Warning' })).toBe(200);
  expect(await set('system-9', { health: 'OK' })).toBe(404);
  const { body } = await get(system);
  expect(body['Status']).toMatchObject({ HealthRollup: 'Warning' });
  const linkIn = (value: unknown) => (value as { '@odata.id': string })['@odata.id'];
  const services = await get(linkIn(body['LogServices']));
  const service = await get(linkIn((services.body['Members'] as unknown[])[0]));
  const entries = await get(linkIn(service.body['Entries']));
  expect(entries.body['Members']).toMatchObject([
    { Severity: 'Critical', Message: 'fan 1 failed', Created: '2026-01-01T00:00:00.000Z' },
  ]);
});
