import { expect, test } from 'vitest';
import { PROFILE_NAMES, type ProfileName } from '../../../emulators/redfish/profiles.ts';
import { type Fish, ROOT, SESSIONS, startFish } from './harness.ts';
import { faultsOfResource } from './standard.ts';
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
