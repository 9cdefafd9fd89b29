import { configTable } from './describe.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { BALANCER_DRIVERS } from '../../src/adapters/balancer/drivers.ts';
import type { Driver } from '../../src/adapters/provider/port.ts';
import { machinesMaxOf, ownSettingsOf, parseConfig, policyOf } from '../../src/config.ts';
import { settingsOf } from '../../src/config/provider-schema.ts';
import { UsageError } from '../../src/domain/errors.ts';
import * as leaf from '../../src/settings/leaves.ts';
import { env, minimal, withValue } from './examples.ts';
import { testRows } from '../support/rows.ts';

/** Every driver there is, as messages list them. */
const NAMES = ['equinix', 'hetzner-robot', 'latitude', 'redfish', 'static'];

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-providers-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const SET_ID = 'aaaaa-bbbbb-ccccccccccccccc';
const rack = { driver: 'static', instanceSetId: SET_ID, inventory: 'file:machines.json' };
/** A configuration with these providers instead of the usual one. */
const withProviders = (providers: object) => ({ ...minimal(), providers });
const parse = (providers: object) =>
  parseConfig(withProviders(providers), { env, baseDirectory: directory });
const complaint = (providers: object): string => {
  try {
    parse(providers);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

test('every driver has the common keys, and each its own', () => {
  const { providers } = parse({ rack, cloud: minimal().providers.equinix });
  expect(providers['rack']).toMatchObject({ callsPerSecond: 10, sharedTags: {} });
  expect(ownSettingsOf(providers['rack']!)).toEqual({
    inventory: join(directory, 'machines.json'),
    refresh: 300_000,
    sshUser: 'root',
    sshPasswords: {},
    probePort: 22,
    probeInterval: 60_000,
    probeTimeout: 3_000,
    probeParallelism: 32,
  });
  expect(ownSettingsOf(providers['cloud']!)).toMatchObject({ devicePrefix: 'shepherd-test-' });
});

test('B4: machines of a list are strict, unless their provider says otherwise', () => {
  const cloud = minimal().providers.equinix;
  const policies = (fleet: string | null, one: object = {}) => {
    const config = parseConfig(
      {
        ...withProviders({ rack: { ...rack, ...one }, cloud }),
        ssh: { ...minimal().ssh, ...(fleet !== null && { hostKeyPolicy: fleet }) },
      },
      { env, baseDirectory: directory },
    );
    return [policyOf(config, 'rack'), policyOf(config, 'cloud')];
  };
  expect(policies(null)).toEqual(['strict', 'tofu']);
  expect(policies('insecure')).toEqual(['strict', 'insecure']);
  expect(policies(null, { hostKeyPolicy: 'tofu' })).toEqual(['tofu', 'tofu']);
  expect(policies('strict', { hostKeyPolicy: 'insecure' })).toEqual(['insecure', 'strict']);
  expect(complaint({ rack: { ...rack, hostKeyPolicy: 'trusting' } })).toContain(
    'providers.rack.hostKeyPolicy is "trusting"; give one of strict, tofu, insecure',
  );
});

testRows([
  ['http://192.0.2.1/machines.json', false],
  ['http://machines.example.net/list', false],
  ['http://127.0.0.1.example.net/list', false],
  ['http://127.0.0.1:8000/machines.json', true],
  ['http://localhost:8000/machines.json', true],
  ['http://[::1]:8000/machines.json', true],
  ['https://machines.example.net/list', true],
])('B4: a list from %s is taken: %s', (inventory, isTaken) => {
  if (isTaken) return expect(parse({ rack: { ...rack, inventory } })).toBeDefined();
  return expect(complaint({ rack: { ...rack, inventory } })).toMatch(
    /providers\.rack\.inventory is read in clear, .*give an https URL/,
  );
});

test('a key that would be taken for several is quoted', () => {
  const message = complaint({
    rack: { ...rack, sharedTags: { 'a.b/c': 'FIXME', 'it-is': 'FIXME' } },
  });
  expect(message).toContain('  providers.rack.sharedTags["a.b/c"] is');
  expect(message).toContain('  providers.rack.sharedTags.it-is is');
});

test('vector 1: an unknown key is named with those that this driver knows', () => {
  const message = complaint({ rack: { ...rack, token: '${API_TOKEN}' } });
  expect(message).toContain('providers.rack.token is not known; known here: ');
  expect(message).toContain('inventory');
  expect(message).toContain('instanceSetId');
  expect(message, 'keys of others are not known here').not.toContain('projectId');
});

test('an item of a list tells what is known in it', () => {
  const { token, instanceSetId } = minimal().providers.equinix;
  const slots = [
    { plan: 'c3-small-x86', site: 'ASH', count: 1 },
    { plan: 'c3-small-x86', site: 'ASH', number: 1 },
  ];
  const metal = { driver: 'latitude', token, instanceSetId, slots };
  expect(complaint({ rack, metal })).toContain(
    'providers.metal.slots.1.number is not known; known here: plan, site, count',
  );
});

test('vector 1: a placeholder is named wherever it stands, and not repeated with a secret', () => {
  const providers = {
    rack: { ...rack, inventory: 'file:FIXME.json', sharedTags: { team: 'fixMe', Fixme: 'x' } },
    cloud: { ...minimal().providers.equinix, token: 'FIXME-but-a-literal-token' },
  };
  const message = complaint(providers);
  for (const path of ['rack.inventory', 'rack.sharedTags.team', 'rack.sharedTags.Fixme']) {
    expect(message).toContain(`providers.${path} `);
  }
  expect(message).toContain('providers.cloud.token ');
  expect(message).not.toContain('but-a-literal-token');
});

testRows([
  ['sharedTags', { 'shepherd-op': 'x' }, 'providers.rack.sharedTags.shepherd-op'],
  ['sharedTags', { 'a key': 'x' }, 'providers.rack.sharedTags["a key"]'],
  ['callsPerSecond', -1, 'providers.rack.callsPerSecond'],
  ['initCommand', 'x'.repeat(900), 'providers.rack.initCommand is too long'],
  ['initCommand', 'file:absent.sh', 'providers.rack.initCommand refers to file:absent.sh'],
  ['instanceSetId', 'short', 'providers.rack.instanceSetId is "short"; give an id'],
  ['instanceSetId', undefined, 'providers.rack.instanceSetId is missing'],
  ['inventory', undefined, 'providers.rack.inventory is missing'],
  ['inventory', 'ftp://x', 'providers.rack.inventory is "ftp://x"; give file:<path>'],
  ['inventory', 'https://me:secret@x/', 'without credentials'],
  ['driver', 'gcp', `names no driver that exists; give one of ${NAMES.join(', ')}`],
  ['driver', 'stub', `${NAMES.join(', ')}; to try Shepherd, run shepherd sim`],
  ['driver', 'loopback', 'machines of your own with driver static'],
  ['driver', undefined, `names no driver that exists; give one of ${NAMES.join(', ')}`],
])('%s: %o is refused', (key, value, expected) => {
  const changed = withValue(`rack.${key}`, value, { rack: { ...rack } }) as object;
  expect(complaint(changed)).toContain(expected);
});

test('two providers over one inventory are refused', () => {
  expect(complaint({ rack, other: rack })).toContain(
    'providers.other.inventory overlaps with that of provider rack',
  );
  expect(() => parse({ rack, other: { ...rack, inventory: 'file:o.json' } })).not.toThrow();
});

test('lines of the first boot are read, and never shown', () => {
  writeFileSync(join(directory, 'boot.sh'), 'echo password-1\n');
  const { providers } = parse({
    rack: { ...rack, initCommand: 'file:boot.sh' },
    other: { ...rack, inventory: 'file:o.json', initCommand: 'echo password-2' },
  });
  expect(providers['rack']!.initCommand?.read()).toBe('echo password-1\n');
  expect(providers['other']!.initCommand?.read()).toBe('echo password-2');
  for (const text of [JSON.stringify(providers), inspect(providers, { depth: 9 })]) {
    expect(text).not.toContain('password');
  }
  expect(String(providers['rack']!.initCommand)).toBe('file:boot.sh');
});

test('the limit of machines is the provider’s own, or the usual', () => {
  const config = parse({ rack: { ...rack, maxMachines: 0 }, cloud: minimal().providers.equinix });
  expect(['rack', 'cloud', 'none'].map((name) => machinesMaxOf(config, name))).toEqual([0, 50, 50]);
});

test('a driver must not have a key that all have', () => {
  const driver: Driver = {
    name: 'rack',
    settings: () => z.strictObject({ image: leaf.text('Image.') }),
    open: () => {
      throw new Error('not opened');
    },
  };
  const around = { env: {}, baseDirectory: '/', checkFiles: false };
  expect(() => settingsOf(driver, around)).toThrow('driver rack: every provider has a key image');
});

test('the table shows the keys of each driver apart', () => {
  const [all, ...own] = configTable().split(/^### Keys of the driver /m);
  expect(all).toContain(`| \`providers.<name>.driver\` | one of ${NAMES.join(', ')} |`);
  expect(all).not.toContain('projectId');
  expect(own.map((text) => text.split('\n')[0])).toEqual(
    [...NAMES, ...BALANCER_DRIVERS.keys()].map((name) => `\`${name}\``),
  );
  const keysOf = (name: string) => own[NAMES.indexOf(name)];
  expect(keysOf('equinix')).toContain('`providers.<name>.token` | reference | required');
  expect(keysOf('static')).toContain('`providers.<name>.inventory`');
  expect(keysOf('static')).not.toContain('instanceSetId');
});
