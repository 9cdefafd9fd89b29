import { expect, test } from 'vitest';
import { PROFILE_NAMES, type ProfileName } from '../../../src/simulator/fakefish/profiles.ts';
import { type Fish, messagesOf, ROOT, SESSIONS, startFish } from './harness.ts';
import { faultsOfError, faultsOfResource } from './standard.ts';
import { testRows } from '../../support/rows.ts';

/** Supermicro's own target, which the standard does not know. */
const OWN_WORDS = /"UsbCd", not/;

const linksIn = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const isLink = ['@odata.id', '@Redfish.ActionInfo'].includes(name);
    return isLink ? [String(inner)] : linksIn(inner);
  });
};

/** What is wrong with all that links lead to. */
async function faultsOfAll({ ask }: Fish, token: string) {
  const seen = new Set<string>();
  const schemas = new Set<string>();
  const faults: string[] = [];
  const open = [`${ROOT}/`];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const { status, body } = await ask('GET', next, { auth: { token } });
    if (status !== 200) faults.push(`${next}: ${status}`);
    faults.push(...faultsOfResource(body, next));
    schemas.add(String(body['@odata.type']).split('.')[0]!.slice(1));
    open.push(...linksIn(body));
  }
  return { faults, schemas };
}

const ALWAYS = [
  ...['Chassis', 'ComputerSystem', 'LogEntry', 'LogService', 'Manager', 'Session', 'Task'].flatMap(
    (of) => [of, `${of}Collection`],
  ),
  ...['VirtualMedia', 'VirtualMediaCollection', 'ServiceRoot', 'SessionService', 'TaskService'],
].toSorted();
const more = (profile: ProfileName) => (profile === 'openbmc' ? ['ActionInfo'] : []);

testRows(PROFILE_NAMES)('every resource of %s is as the schemas have it', async (profile) => {
  const fish = await startFish({ profile });
  const { ask, fake, fault, path, start } = fish;
  await start();
  const end = profile === 'ilo5' ? '/' : '';
  const { username: UserName, password: Password } = fake.credentials;
  const login = { auth: 'none', body: { UserName, Password } } as const;
  const made = await ask('POST', `${SESSIONS}${end}`, login);
  const auth = { token: String(made.headers['x-auth-token']) };
  expect(faultsOfResource(made.body, String(made.headers.location))).toEqual([]);
  await fault({ type: 'task', does: 'ends' }, { times: 1 });
  const begun = await ask('PATCH', `${path}${end}`, { body: { AssetTag: 'A1' }, auth });
  expect(begun.status).toBe(202);
  expect(faultsOfResource(begun.body, String(begun.body['@odata.id']))).toEqual([]);
  await fake.advance(5_000);
  const { faults, schemas } = await faultsOfAll(fish, auth.token);
  expect(faults.filter((one) => !OWN_WORDS.test(one))).toEqual([]);
  expect([...schemas].toSorted()).toEqual([...ALWAYS, ...more(profile)].toSorted());
});

test('every refusal has the form of the standard', async () => {
  const { ask, path, reset } = await startFish();
  const refusals = [
    await ask('GET', path, { auth: 'none' }),
    await ask('GET', `${ROOT}/Nowhere`),
    await ask('PATCH', path, { body: { SerialNumber: 'X', Colour: 'red', AssetTag: 7 } }),
    await ask('PATCH', path, { body: 'no JSON' }),
    await reset('Explode'),
    await reset('ForceRestart'),
    await ask('DELETE', path),
    await ask('GET', `${ROOT}/Systems?$expand=.`),
    await ask('PATCH', path, { body: { AssetTag: 'A' }, headers: { 'if-match': '"0"' } }),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([
    ...[401, 404, 400, 400, 400, 409, 405, 501, 412],
  ]);
  for (const { body } of refusals) expect(faultsOfError(body, '')).toEqual([]);
});

test('a value that the standard does not know is found', async () => {
  const { ask, path } = await startFish();
  const { body } = await ask('GET', path);
  const spoiled = { ...body, PowerState: 'Warm', Colour: 'red', Name: undefined, Id: undefined };
  expect(faultsOfResource(JSON.parse(JSON.stringify(spoiled)), path)).toEqual([
    `${path} lacks Id`,
    `${path} lacks Name`,
    `${path}/PowerState is "Warm", not On|Off|PoweringOn|PoweringOff`,
    `${path}/Colour is not in the schema`,
  ]);
});

test('HEAD is a GET without its body, and says what else can be done', async () => {
  const { ask, path } = await startFish();
  const [got, headed] = [await ask('GET', path), await ask('HEAD', path)];
  expect([headed.status, headed.text]).toEqual([200, '']);
  expect(headed.headers).toMatchObject({ etag: got.headers.etag, allow: 'GET, HEAD, PATCH' });
  expect((await ask('HEAD', `${ROOT}/`, { auth: 'none' })).status).toBe(200);
  expect((await ask('HEAD', path, { auth: 'none' })).status).toBe(401);
  expect((await ask('HEAD', SESSIONS)).status).toBe(200);
});

test('the metadata are XML, open to everybody, and name every type that is served', async () => {
  const { ask } = await startFish();
  const metadata = await ask('GET', `${ROOT}/$metadata`, { auth: 'none' });
  expect([metadata.status, metadata.headers['content-type']]).toEqual([
    200,
    'application/xml; charset=utf-8',
  ]);
  for (const name of ALWAYS) {
    expect(metadata.text).toMatch(new RegExp(`<edmx:Include Namespace="${name}(\\.v[0-9_]+)?"/>`));
  }
  const service = await ask('GET', `${ROOT}/odata`, { auth: 'none' });
  expect(service.body).toMatchObject({
    '@odata.context': '/redfish/v1/$metadata',
    value: expect.arrayContaining([
      { name: 'Systems', kind: 'Singleton', url: '/redfish/v1/Systems' },
    ]) as unknown,
  });
});

test('AMI changes the override in a resource of its own, whole, and shows it in the system', async () => {
  const { ask, path, system } = await startFish({ profile: 'ami' });
  const once = {
    BootSourceOverrideEnabled: 'Once',
    BootSourceOverrideTarget: 'Pxe',
    BootSourceOverrideMode: 'UEFI',
  };
  const refused = await ask('PATCH', path, { body: { Boot: once } });
  expect([refused.status, messagesOf(refused)]).toEqual([
    400,
    ['OperationSupportedInFutureStateURI'],
  ]);
  expect(await system()).toMatchObject({
    '@Redfish.Settings': { SettingsObject: { '@odata.id': `${path}/SD` } },
  });
  const { BootSourceOverrideMode: _mode, ...short } = once;
  const half = await ask('PATCH', `${path}/SD`, { body: { Boot: short } });
  expect(messagesOf(half)).toEqual(['PropertyMissing']);
  expect((await ask('PATCH', `${path}/SD`, { body: { Boot: once } })).status).toBe(204);
  expect((await system())['Boot']).toMatchObject(once);
});

test('DGX inserts nothing without a name and a password, and takes any', async () => {
  const { ask } = await startFish({ profile: 'dgx' });
  const insert = (body: object) =>
    ask('POST', `${ROOT}/Managers/BMC/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`, {
      body: { Image: 'https://images.test/a.iso', ...body },
    });
  expect(messagesOf(await insert({}))).toEqual([
    'ActionParameterMissing',
    'ActionParameterMissing',
  ]);
  expect((await insert({ UserName: 'none', Password: 'none' })).status).toBe(204);
});

testRows([
  ['generic', `${ROOT}/Systems/1/LogServices/SEL/Entries`, ['Off', 'On']],
  ['idrac9', `${ROOT}/Managers/iDRAC.Embedded.1/LogServices/Sel/Entries`, ['On', 'Off']],
] as const)('the log of %s tells of power, in its order', async (profile, path, order) => {
  const { fake, ask, reset, start } = await startFish({ profile });
  await start();
  await reset('ForceOff');
  await fake.advance(2_000);
  await ask('POST', `${path}/1`);
  const texts = async (query: string) => {
    const { body } = await ask('GET', `${path}${query}`);
    return (body['Members'] as { Message: string }[]).map(({ Message }) => Message);
  };
  const [newest, older] = order[0] === 'On' ? ['Off', 'On'] : ['On', 'Off'];
  expect(await texts('')).toEqual([newest, older].map((state) => `System power is ${state}.`));
  expect(await texts('?$top=1')).toHaveLength(1);
  expect(await texts('?$top=50&$skip=1')).toHaveLength(1);
  expect((await ask('GET', `${path}?$top=x`)).status).toBe(400);
  expect((await ask('GET', `${path}?$filter=x`)).status).toBe(501);
  expect((await ask('GET', `${path}/9`)).status).toBe(404);
});
