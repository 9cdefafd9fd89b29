import { expect, test } from 'vitest';
import type { Boot } from '../../../emulators/redfish/power.ts';
import { PROFILE_NAMES, type ProfileName } from '../../../emulators/redfish/profiles.ts';
import { testRows } from '../../support/rows.ts';
import { type Asked, IMAGE, messagesOf, type Reply, ROOT, SESSIONS, startFish } from './harness.ts';
import { faultsOfError } from './standard.ts';

const VM = 'VirtualMedia';
const PLACES: Readonly<Record<ProfileName, readonly [system: string, disc: string]>> = {
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
const placesOf = (profile: ProfileName): Readonly<Record<string, string>> => {
  const [system, disc] = PLACES[profile].map((place) => `${ROOT}/${place}`) as [string, string];
  return {
    ...{ system, disc },
    reset: actionOf(system, 'ComputerSystem.Reset'),
    insert: actionOf(disc, `${VM}.InsertMedia`),
    eject: actionOf(disc, `${VM}.EjectMedia`),
  };
};
const fill = (profile: ProfileName, ask: string) =>
  ask.replaceAll(/\{(\w+)\}/g, (_, name: string) => placesOf(profile)[name]!);
const answerOf = (reply: Reply) => [reply.status, ...messagesOf(reply)].join(' ');

const boot = (more: object) => ({ Boot: more });
const PXE = { BootSourceOverrideTarget: 'Pxe' };
const ONCE_PXE = { ...PXE, BootSourceOverrideEnabled: 'Once' };
const LOGIN = 'POST /redfish/v1/SessionService/Sessions';
const LOG = '/redfish/v1/Systems/1/LogServices/SEL/Entries';
const none = { auth: 'none' } as const;
const IN_TEXT = { 'content-type': 'text/plain' };

/** A request, its status and messages, the body that is sent, and whatever else. */
type Row = [profile: ProfileName, ask: string, answer: string, body?: unknown, more?: Asked];
const ANSWERS: readonly Row[] = [
  ['generic', 'GET /redfish', '200', undefined, none],
  ['generic', `GET ${ROOT}/`, '200', undefined, none],
  ['generic', `HEAD ${ROOT}/`, '200', undefined, none],
  ['generic', 'HEAD {system}', '200'],
  ['generic', 'HEAD {system}', '401', undefined, none],
  ['generic', 'GET {system}', '401 NoValidSession', undefined, none],
  ['generic', 'GET {system}', '401 ResourceAtUriUnauthorized', undefined, { auth: 'wrong' }],
  ['generic', 'GET {system}', '401 NoValidSession', undefined, { auth: { token: 'made-up' } }],
  ['generic', `GET ${ROOT}/Nowhere`, '401 NoValidSession', undefined, none],
  ['generic', `GET ${ROOT}/Nowhere`, '404 ResourceMissingAtURI'],
  ['generic', `GET ${ROOT}/Systems/2`, '404 ResourceMissingAtURI'],
  ['generic', 'GET {system}/', '200'],
  ['generic', 'DELETE {system}', '405 OperationNotAllowed'],
  ['generic', 'GET {system}?$expand=.', '501 QueryNotSupported'],
  [
    'generic',
    'GET {system}',
    '412 PreconditionFailed',
    undefined,
    { headers: { 'odata-version': '3.0' } },
  ],
  ['generic', 'PATCH {system}', '415 UnrecognizedRequestBody', 'x', { headers: IN_TEXT }],
  ['generic', 'PATCH {system}', '412 PreconditionFailed', {}, { headers: { 'if-match': '"0"' } }],
  ['generic', `GET ${LOG}?$top=x`, '400 QueryParameterValueFormatError'],
  ['generic', `GET ${LOG}?$filter=x`, '501 QueryNotSupported'],
  ['generic', `GET ${LOG}/9`, '404 ResourceMissingAtURI'],

  ['generic', LOGIN, '400 MalformedJSON', undefined, none],
  ['generic', LOGIN, '400 MalformedJSON', '{', none],
  ['generic', LOGIN, '400 UnrecognizedRequestBody', [], none],
  ['generic', LOGIN, '400 PropertyMissing', { UserName: 'admin' }, none],
  ['generic', LOGIN, '400 PropertyValueTypeError', { UserName: 'admin', Password: 1 }, none],
  ['generic', LOGIN, '400 PropertyUnknown', { UserName: 'a', Password: 'b', Role: 'x' }, none],

  ['generic', 'PATCH {system}', '400 PropertyUnknown', { Colour: 'red' }],
  ['generic', 'PATCH {system}', '400 PropertyNotWritable', { SerialNumber: 'X' }],
  ['generic', 'PATCH {system}', '400 PropertyValueTypeError', { AssetTag: 7 }],
  ['generic', 'PATCH {system}', '400 PropertyValueTypeError', { AssetTag: null }],
  ['generic', 'PATCH {system}', '400 PropertyUnknown', boot({ Order: 1 })],
  [
    ...(['generic', 'PATCH {system}', '400 PropertyValueNotInList'] as const),
    boot({ BootSourceOverrideTarget: 'Floppy' }),
  ],
  ['generic', 'PATCH {system}', '400 EmptyJSON', {}],
  ['supermicro', 'PATCH {system}', '400 PropertyMissing', boot(PXE)],
  ['ami', 'PATCH {system}', '400 OperationSupportedInFutureStateURI', boot(ONCE_PXE)],
  ['ami', 'PATCH {system}/SD', '400 PropertyMissing', boot(ONCE_PXE)],

  ['generic', 'POST {reset}', '400 ActionParameterMissing', {}],
  ['generic', 'POST {reset}', '400 ActionParameterValueNotInList', { ResetType: 'Kick' }],
  ['generic', 'POST {reset}', '400 ActionParameterValueTypeError', { ResetType: 1 }],
  ['generic', 'POST {reset}', '400 ActionParameterNotSupported', { ResetType: 'FullPowerCycle' }],
  ['generic', 'POST {reset}', '400 ActionParameterUnknown', { ResetType: 'On', Force: true }],
  ['generic', 'POST {reset}', '409 ResourceInUse', { ResetType: 'ForceRestart' }],
  ['ilo5', 'POST {reset}', '400 InvalidOperationForSystemState', { ResetType: 'ForceRestart' }],
  ['idrac9', 'POST {reset}', '400 ActionParameterNotSupported', { ResetType: 'GracefulRestart' }],

  ['generic', 'POST {insert}', '400 ActionParameterValueFormatError', { Image: 'ftp://a.test/a' }],
  ['generic', 'POST {insert}', '400 ActionParameterMissing', {}],
  ['generic', 'POST {insert}', '400 ActionParameterUnknown', { Image: IMAGE, Speed: 'fast' }],
  [
    ...(['generic', 'POST {insert}', '400 ActionParameterValueTypeError'] as const),
    { Image: IMAGE, Inserted: 'yes' },
  ],
  ['openbmc', 'POST {insert}', '400 ActionParameterValueFormatError', { Image: 'http://a.test/a' }],
  ['supermicro', 'POST {insert}', '400 ActionParameterUnknown', { Image: IMAGE, Inserted: true }],
  ['dgx', 'POST {insert}', '400 ActionParameterMissing ActionParameterMissing', { Image: IMAGE }],
  ['generic', 'PATCH {disc}', '405 OperationNotAllowed', { Image: IMAGE }],
  ['lenovo', 'POST {insert}', '404 ResourceMissingAtURI', { Image: IMAGE }],
  ['lenovo', 'PATCH {disc}', '400 PropertyMissing PropertyMissing', { Image: IMAGE }],
  ['ilo5', 'POST {eject}', '400 MalformedJSON'],
  ['ilo5', 'POST {eject}', '204', {}],
  ['ilo5', `GET ${ROOT}/Systems/1`, '308'],
  ['openbmc', 'GET {system}/ResetActionInfo', '200'],
  ['generic', 'GET {system}/ResetActionInfo', '404 ResourceMissingAtURI'],
];

/** No row changes anything: the emulators of the table are made once. */
const shared: Partial<Record<ProfileName, ReturnType<typeof startFish>>> = {};

testRows(ANSWERS)('%s answers %s with %s', async (profile, asked, answer, body, more = {}) => {
  const { ask, system } = await (shared[profile] ??= startFish({ profile }));
  const before = await system();
  const [method, path] = fill(profile, asked).split(' ') as [string, string];
  const reply = await ask(method, path, { body, ...more });
  expect(answerOf(reply)).toBe(answer);
  if (reply.body['error']) expect(faultsOfError(reply.body, '')).toEqual([]);
  if (method === 'HEAD') expect(reply.text).toBe('');
  if (path === before['@odata.id'] && [200, 405].includes(reply.status)) {
    expect(reply.headers.allow).toBe('GET, HEAD, PATCH');
  }
  expect(await system()).toEqual(before);
});

testRows(PROFILE_NAMES)('%s boots a virtual CD when its target is named', async (profile) => {
  const boots: Boot[] = [];
  const hooks = {
    down: async () => undefined,
    boot: async (_: string, told: Boot) => void boots.push(told),
  };
  const { ask, start } = await startFish({ profile, hooks });
  const { system, disc, insert } = placesOf(profile) as Record<
    'system' | 'disc' | 'insert',
    string
  >;
  if (profile === 'lenovo') {
    const body = { Image: IMAGE, Inserted: true, WriteProtected: true };
    expect((await ask('PATCH', disc, { body })).status).toBe(200);
  } else {
    const login = profile === 'dgx' ? { UserName: 'none', Password: 'none' } : {};
    expect((await ask('POST', insert, { body: { Image: IMAGE, ...login } })).status).toBe(204);
  }
  expect((await ask('GET', disc)).body).toMatchObject({
    ...{ Image: IMAGE, ImageName: 'installer.iso', Inserted: true, ConnectedVia: 'URI' },
  });
  const target = profile === 'supermicro' ? 'UsbCd' : 'Cd';
  const isAmi = profile === 'ami';
  const wanted = {
    BootSourceOverrideEnabled: 'Once',
    BootSourceOverrideTarget: target,
    ...(isAmi && { BootSourceOverrideMode: 'UEFI' }),
  };
  const place = isAmi ? `${system}/SD` : system;
  const changed = await ask('PATCH', place, { body: boot(wanted) });
  expect(changed.status).toBe(profile === 'openbmc' || isAmi ? 204 : 200);
  expect((await ask('GET', system)).body['Boot']).toMatchObject(wanted);
  await start();
  const mode = profile.startsWith('supermicro') ? 'Legacy' : 'UEFI';
  const isRead = profile !== 'idrac10';
  expect(boots).toMatchObject([
    isRead ? { source: target, image: IMAGE, mode } : { source: 'Hdd', image: null },
  ]);
});

testRows(['generic', 'lenovo'] as const)('%s has one disc in a drive', async (profile) => {
  const { ask } = await startFish({ profile });
  const { disc, insert, eject } = placesOf(profile) as Record<string, string>;
  const shown = async () => (await ask('GET', disc!)).body;
  const isLenovo = profile === 'lenovo';
  const put = { Image: IMAGE, ...(isLenovo && { Inserted: true, WriteProtected: true }) };
  const statuses: number[] = [];
  for (const body of [put, put, null, put]) {
    const change = isLenovo
      ? ask('PATCH', disc!, { body: body ?? { Image: null, Inserted: false } })
      : ask('POST', body ? insert! : eject!, body ? { body } : {});
    statuses.push((await change).status);
    expect(await shown()).toMatchObject({ Image: body && IMAGE, Inserted: body !== null });
  }
  expect(statuses).toEqual(isLenovo ? [200, 409, 200, 200] : [204, 409, 204, 204]);
});

test('iLO 5 changes no boot override during POST', async () => {
  const { fake, ask, start } = await startFish({ profile: 'ilo5' });
  const change = () => ask('PATCH', placesOf('ilo5')['system']!, { body: boot(PXE) });
  fake.reset('system-1', 'On');
  await fake.advance(3_000);
  expect(answerOf(await change())).toBe('400 UnableToModifyDuringSystemPOST');
  await start();
  await fake.advance(60_000);
  expect((await change()).status).toBe(200);
});

test('iDRAC 10 tells no boot targets and is slow to switch on again', async () => {
  const { fake, reset, start, system } = await startFish({ profile: 'idrac10' });
  const values = 'BootSourceOverrideTarget@Redfish.AllowableValues';
  expect((await system())['Boot']).not.toHaveProperty(values);
  await start();
  await reset('ForceOff');
  await fake.advance(2_000 + 29_999);
  expect(answerOf(await reset('On'))).toBe('409 ActionParameterValueConflict');
  await fake.advance(1);
  expect((await reset('On')).status).toBe(204);
});

testRows([
  ['generic', `${ROOT}/Systems/1/LogServices/SEL/Entries`, ['Off', 'On']],
  ['idrac9', `${ROOT}/Managers/iDRAC.Embedded.1/LogServices/Sel/Entries`, ['On', 'Off']],
] as const)('the log of %s tells of power, in its order', async (profile, path, [last, first]) => {
  const { fake, ask, reset, start } = await startFish({ profile });
  await start();
  await reset('ForceOff');
  await fake.advance(2_000);
  const texts = async (query: string) => {
    const { body } = await ask('GET', `${path}${query}`);
    return (body['Members'] as { Message: string }[]).map(({ Message }) =>
      Message.split(' ').at(-1),
    );
  };
  expect(await texts('')).toEqual([`${first}.`, `${last}.`]);
  expect([await texts('?$top=1'), await texts('?$top=50&$skip=1')]).toEqual([
    ...[[`${first}.`], [`${last}.`]],
  ]);
});

test('a session is made, shown, used and ended; a use keeps it', async () => {
  const { fake, ask, login } = await startFish();
  await ask('PATCH', `${ROOT}/SessionService`, { body: { SessionTimeout: 60 } });
  const sessionOf = ({ headers }: Reply) => ({ token: String(headers['x-auth-token']) });
  const made = await login();
  const [auth, idle] = [sessionOf(made), sessionOf(await login())];
  const place = String(made.headers.location);
  for (const _ of [1, 2]) {
    await fake.advance(59_000);
    expect((await ask('GET', place, { auth })).body).toMatchObject({ UserName: 'admin' });
  }
  expect((await ask('GET', SESSIONS, { auth: idle })).status).toBe(401);
  expect((await ask('GET', SESSIONS, { auth })).body).toMatchObject({ 'Members@odata.count': 1 });
  expect((await ask('DELETE', place, { auth })).status).toBe(204);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(401);
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 2 });
  const journal = fake.requests();
  expect(JSON.stringify(journal)).not.toContain(fake.credentials.password);
  expect(journal.slice(0, 4).map((entry) => entry.auth)).toEqual([
    ...['basic', 'none', 'none', 'session'],
  ]);
});

testRows([
  ['generic', 'SessionLimitExceeded'],
  ['idrac9', 'RAC0218'],
] as const)('%s has room for 16 sessions, and then says %s', async (profile, message) => {
  const { fake, login } = await startFish({ profile });
  for (let n = 0; n < 16; n++) expect((await login()).status).toBe(201);
  expect(answerOf(await login())).toBe(`503 ${message}`);
  await fake.advance(600_000);
  expect((await login()).status).toBe(201);
});

test('a change with the ETag of what was seen is made, with that of something older refused', async () => {
  const { ask, path, system } = await startFish();
  const { etag = '' } = (await ask('GET', path)).headers;
  expect(etag).toMatch(/^"\w+"$/);
  const change = async (tag: string, wanted?: string) =>
    answerOf(
      await ask('PATCH', path, {
        body: { AssetTag: tag },
        ...(wanted && { headers: { 'if-match': wanted } }),
      }),
    );
  expect([await change('one', etag), await change('two', etag)]).toEqual([
    ...['200', '412 PreconditionFailed'],
  ]);
  expect((await system())['AssetTag']).toBe('one');
  expect([await change('three', '*'), await change('four')]).toEqual(['200', '200']);
});

test('systems are dealt out to BMCs, and OpenBMC has one', async () => {
  const { fake } = await startFish({ systems: 5, bmcs: 2 });
  const names = fake.bmcs().map(({ systems }) => systems.map(({ name }) => name));
  expect(names).toEqual([
    ['system-1', 'system-2'],
    ['system-3', 'system-4', 'system-5'],
  ]);
  const two = { profile: 'openbmc', systems: 2, bmcs: 1 } as const;
  await expect(startFish(two)).rejects.toThrow(/one system/);
  await expect(startFish({ systems: 1, bmcs: 2 })).rejects.toThrow(/more BMCs/);
});
