import { expect, test } from 'vitest';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import { hostnameOf, placesOf } from '../../../../src/adapters/provider/latitude/names.ts';
import type { LatitudeSettings } from '../../../../src/adapters/provider/latitude/settings.ts';

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

test('what is not said has its usual value', () => {
  expect(settings()).toMatchObject({
    baseUrl: 'https://api.latitude.sh',
    os: 'ubuntu_24_04_x64_lts',
    billing: 'hourly',
    onDeprovision: 'delete',
    readsPerMinute: 54,
    writesPerMinute: 18,
    pageSize: 100,
    connectTimeout: 10_000,
    attemptTimeout: 60_000,
    operationTimeout: 720_000,
    settle: 120_000,
    staleOn: 180_000,
  });
  expect(settings().raid).toBeUndefined();
});

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

test('two providers in one project need names of which none begins with the other', () => {
  const overlap = (one: object, other: object) =>
    latitudeDriver.overlaps!(settings(one), settings({ token: '${OTHER}', ...other }));
  expect(overlap({ namePrefix: 'shep-' }, { namePrefix: 'shep-b-' })).toBe('namePrefix');
  expect(overlap({ namePrefix: 'shep-a-' }, { namePrefix: 'shep-b-' })).toBeNull();
  expect(overlap({}, { project: 'proj_Other' })).toBeNull();
});

test('two providers with one key would each keep to a budget of their own, and are refused', () => {
  const other = { project: 'proj_Other', namePrefix: 'x-' };
  const overlap = (change: object) =>
    latitudeDriver.overlaps!(settings(), settings({ ...other, ...change }));
  expect(overlap({ token: '${SAME}' })).toBe('token');
  expect(overlap({ token: '${OTHER}' })).toBeNull();
  expect(overlap({ baseUrl: 'http://127.0.0.1:8080' })).toBeNull();
});
