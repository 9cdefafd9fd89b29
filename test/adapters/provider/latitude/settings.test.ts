import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import {
  hostnameOf,
  placesOf,
  type LatitudeSettings,
} from '../../../../src/adapters/provider/latitude/settings.ts';

const schema = latitudeDriver.settings({
  env: { TOKEN: 'a-token', SAME: 'a-token', OTHER: 'another-token' },
  baseDirectory: '/',
  checkFiles: false,
});
const GIVEN = {
  token: '${TOKEN}',
  project: 'proj_A1b2',
  namePrefix: 'shep-',
  sshKeyName: 'shepherd',
  slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 2 }],
};
const settings = (change: object = {}) => schema.parse({ ...GIVEN, ...change }) as LatitudeSettings;
/** What is wrong, by where it stands. */
function faults(change: object): Record<string, string> {
  const { error } = schema.safeParse({ ...GIVEN, ...change });
  const issues = error?.issues ?? [];
  return Object.fromEntries(issues.map(({ path, message }) => [path.join('.'), message]));
}

test.each([
  ['namePrefix', { namePrefix: 'Shepherd_' }],
  ['namePrefix', { namePrefix: 'shep' }],
  ['namePrefix', { namePrefix: 'FIXME-' }],
  ['namePrefix', { namePrefix: 'a-name-too-long-' }],
  ['project', { project: 'my-project' }],
  ['project', { project: undefined }],
  ['sshKeyName', { sshKeyName: 'FIXME' }],
  ['slots', { slots: [] }],
  ['slots', { slots: 'c3-small-x86' }],
  ['slots.0.site', { slots: [{ plan: 'c3-small-x86', site: 'ASHBURN', count: 1 }] }],
  ['slots.0.site', { slots: [{ plan: 'c3-small-x86', site: 'ash', count: 1 }] }],
  ['slots.0.count', { slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 0 }] }],
  ['baseUrl', { baseUrl: 'http://api.example.org' }],
  ['billing', { billing: 'weekly' }],
  ['raid', { raid: 'raid-5' }],
  ['onDeprovision', { onDeprovision: 'keep' }],
  ['token', { token: 'written-out' }],
])('vector 1: %s is refused before anything is asked: %j', (key, change) => {
  expect(Object.keys(faults(change))).toContain(key);
});

test('a plan and site that stand twice would share their names', () => {
  const [slot] = GIVEN.slots;
  expect(faults({ slots: [slot, { ...slot, count: 1 }] })['slots']).toMatch(/two of them/);
  expect(faults({ slots: [slot, { ...slot, site: 'NYC' }] })).toEqual({});
});

test('vector 2: slots have the same names each time, which the vendor takes', () => {
  const slots = [
    { plan: 'c3-small-x86', site: 'ASH', count: 2 },
    { plan: 'm4-metal-large', site: 'TYO23', count: 40 },
  ];
  const places = placesOf(slots, 'a-name-15-long-');
  const names = places.map(({ hostname }) => hostname);
  const place = { plan: 'c3-small-x86', site: 'ASH' };
  expect(places.slice(0, 2)).toEqual([
    { ...place, slot: 'c3-small-x86/ASH/1', hostname: 'a-name-15-long-ash-jnl4msbv' },
    { ...place, slot: 'c3-small-x86/ASH/2', hostname: names[1] },
  ]);
  expect(new Set(names).size).toBe(42);
  for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9.-]{0,30}[a-z0-9]$/);
  expect(Math.max(...names.map(({ length }) => length))).toBe(29);
  expect(hostnameOf('c3-small-x86/ASH/1', 'a-name-15-long-')).toBe(names[0]);
});

test('two providers need names of which none begins with the other, and a key each', () => {
  const overlap = (one: object, other: object) =>
    latitudeDriver.overlaps!(settings(one), settings({ token: '${OTHER}', ...other }));
  expect(overlap({ namePrefix: 'shep-' }, { namePrefix: 'shep-b-' })).toBe('namePrefix');
  expect(overlap({ namePrefix: 'shep-a-' }, { namePrefix: 'shep-b-' })).toBeNull();
  const elsewhere = { project: 'proj_Other', namePrefix: 'shep-b-' };
  expect(overlap({}, elsewhere)).toBeNull();
  // Each would keep to a budget of its own.
  expect(overlap({}, { ...elsewhere, token: '${SAME}' })).toBe('token');
  const loopback = { token: '${SAME}', baseUrl: 'http://127.0.0.1:8080' };
  expect(overlap({}, { ...elsewhere, ...loopback })).toBeNull();
});

test('the configuration of the document is complete, and is taken as it stands', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/latitude.md'), 'utf8');
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(page) ?? [];
  const { providers } = parse(example) as { providers: { latitude: Record<string, unknown> } };
  const { driver, instanceSetId, ...own } = providers.latitude;
  expect(driver).toBe(latitudeDriver.name);
  expect(instanceSetId).toMatch(/^[a-z0-9]{5}-[a-z0-9]{5}-[a-z0-9]{15}$/);
  expect(schema.safeParse({ ...own, token: '${TOKEN}' }).error?.issues).toBeUndefined();
  expect(own['token']).toBe('${LATITUDE_TOKEN}');
});
