import { expect, test } from 'vitest';
import { hetznerRobotDriver } from '../../../../src/adapters/provider/hetzner-robot/driver.ts';
import { robotSchema } from '../../../../src/adapters/provider/hetzner-robot/settings.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { INSTANCE_SET_ID } from './setup.ts';

const around = { env: { PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
const schema = providerSchema(around);
const WHOLE = {
  driver: 'hetzner-robot',
  instanceSetId: INSTANCE_SET_ID,
  user: '#ws+fleet',
  password: '${PASSWORD}',
  namePrefix: 'shep-prod-',
  freePrefix: 'free-',
  sshKeyName: 'shepherd',
  image: 'Debian-1301-trixie-amd64-base.tar.gz',
};
/** The keys at fault. */
const pathsOf = (change: object) => {
  const { error } = schema.safeParse({ ...WHOLE, ...change });
  return [...new Set(error?.issues.map(({ path }) => path.join('.')) ?? [])];
};

test('a whole configuration has no fault', () => {
  expect(pathsOf({})).toEqual([]);
  expect(pathsOf({ image: undefined, imageUrl: 'https://images.example.net/a.tar.gz' })).toEqual(
    [],
  );
  expect(
    pathsOf({ drives: { 321: ['eui.0025385b01'] }, servers: [321], plan: { 321: 'x' } }),
  ).toEqual([]);
  expect(pathsOf({ layout: ['SWRAID 1', 'PART / ext4 all', 'LV vg0 root / ext4 10G'] })).toEqual(
    [],
  );
});

test('vector 1: prefixes of which one begins the other are refused before anything is opened', () => {
  expect(pathsOf({ freePrefix: 'shep-', namePrefix: 'shep-prod-' })).toEqual(['freePrefix']);
  expect(pathsOf({ freePrefix: 'shep-prod-x-' })).toEqual(['freePrefix']);
});

test.each([
  ['user', { user: '' }],
  ['user', { user: 'a:b' }],
  ['password', { password: 'written-out' }],
  ['namePrefix', { namePrefix: 'FIXME-' }],
  ['namePrefix', { namePrefix: 'fixme-' }],
  ['namePrefix', { namePrefix: 'no-hyphen' }],
  ['namePrefix', { namePrefix: `${'a'.repeat(21)}-` }],
  ['freePrefix', { freePrefix: 'Upper-' }],
  ['servers', { servers: [] }],
  ['servers.0', { servers: ['321'] }],
  ['image', { image: undefined }],
  ['image', { image: '../../etc/passwd' }],
  ['image', { image: 'a b' }],
  ['image', { imageUrl: 'https://images.example.net/a.tar.gz' }],
  ['imageUrl', { image: undefined, imageUrl: 'http://images.example.net/a.tar.gz' }],
  ['drives', { drives: { x: ['eui.1'] } }],
  ['layout.0', { layout: ['BOOTLOADER grub'] }],
  ['layout.0', { layout: ['PART / ext4 all\nIMAGE /x'] }],
  ['baseUrl', { baseUrl: 'http://robot.example.net' }],
  ['wipe', { wipe: 'thorough' }],
  ['rescueKeyFile', { rescueKeyFile: 'rescue-key' }],
  ['nonsense', { nonsense: 1 }],
])('%s is at fault', (path, change) => {
  expect(pathsOf(change).join()).toContain(path === 'nonsense' ? '' : path);
  expect(schema.safeParse({ ...WHOLE, ...change }).success).toBe(false);
});

test('http is for this computer alone', () => {
  expect(pathsOf({ baseUrl: 'http://127.0.0.1:8080/' })).toEqual([]);
});

test('two providers overlap by names of one account that begin each other', () => {
  const { overlaps } = hetznerRobotDriver;
  const one = robotSchema(around).safeParse({
    user: 'u',
    password: '${PASSWORD}',
    namePrefix: 'a-',
    freePrefix: 'f-',
    sshKeyName: 'k',
    imageUrl: 'https://images.example.net/a.tar.gz',
  }).data!;
  // Two users may be of one account; only lists of servers tell them apart.
  expect(overlaps!(one, { ...one, user: 'other' })).toBe('namePrefix');
  const listed = { ...one, servers: [321, 322] };
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [323] })).toBeNull();
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [322] })).toBe('namePrefix');
  expect(overlaps!(listed, { ...listed, servers: [323] })).toBe('namePrefix');
  expect(overlaps!(one, one)).toBe('namePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-' })).toBe('freePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-', freePrefix: 'g-' })).toBeNull();
});
