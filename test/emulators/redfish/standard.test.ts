import { expect, test } from 'vitest';
import { VENDOR_NAMES } from '../../../emulators/redfish/vendors.ts';
import { type Bmcs, ROOT, startBmcs } from './harness.ts';
import { faultsOfResource } from './standard.ts';
import { testRows } from '../../support/rows.ts';

/** Supermicro's own target, unknown to the standard. */
const OWN_WORDS = /(AllowableValues\/\d+|BootSourceOverrideTarget): Invalid option/;

const linksIn = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const isLink = ['@odata.id', '@Redfish.ActionInfo'].includes(name);
    return isLink ? [String(inner)] : linksIn(inner);
  });
};

/** Faults in everything that links lead to. */
async function faultsOfAll({ ask }: Bmcs, token: string) {
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
  ...['ComputerSystem', 'Manager', 'Session', 'Task', 'VirtualMedia'].flatMap((of) => [
    ...[of, `${of}Collection`],
  ]),
  ...['LogEntry', 'LogEntryCollection', 'LogService', 'LogServiceCollection'],
  ...['ServiceRoot', 'SessionService', 'TaskService'],
].toSorted();

testRows(VENDOR_NAMES)('serves every resource of %s as in the schemas', async (vendor) => {
  const bmcs = await startBmcs({ vendor });
  const { ask, fake, fault, login, path, start } = bmcs;
  await start();
  for (const message of ['fan 1 failed', 'fan 2 failed']) {
    fake.setHealth('system-1', 'Critical', message);
  }
  const end = vendor === 'ilo5' ? '/' : '';
  const made = await login(end);
  const auth = { token: String(made.headers['x-auth-token']) };
  expect(faultsOfResource(made.body, String(made.headers.location))).toEqual([]);
  await fault({ type: 'task', does: 'ends' }, { times: 1 });
  const begun = await ask('PATCH', `${path}${end}`, { body: { AssetTag: 'A1' }, auth });
  expect(begun.status).toBe(202);
  await fake.advance(5_000);
  const { faults, schemas } = await faultsOfAll(bmcs, auth.token);
  const isOwn = (one: string) => vendor.startsWith('supermicro') && OWN_WORDS.test(one);
  expect(faults.filter((one) => !isOwn(one))).toEqual([]);
  const more = vendor === 'openbmc' ? ['ActionInfo'] : [];
  expect([...schemas].toSorted()).toEqual([...more, ...ALWAYS].toSorted());
});

test('finds what the standard does not know', async () => {
  const { ask, path } = await startBmcs();
  const { body } = await ask('GET', path);
  const spoiled = { ...body, PowerState: 'Warm', Colour: 'red', Name: undefined };
  expect(faultsOfResource(spoiled, path).map((fault) => fault.slice(path.length))).toEqual([
    expect.stringMatching(/^ PowerState: /),
    expect.stringMatching(/^ Name: /),
    expect.stringMatching(/"Colour"/),
  ]);
  expect(faultsOfResource({ ...body, '@odata.type': '#Chair.v1_0_0.Chair' }, path)).toHaveLength(1);
});
