import { configList } from './describe.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { BALANCER_DRIVERS } from '../../src/adapters/balancer/drivers.ts';
import type { Driver } from '../../src/adapters/provider/port.ts';
import { machinesMaxOf, ownSettingsOf, parseConfig, policyOf } from '../../src/config.ts';
import { providerSettingsOf } from '../../src/config/provider-schema.ts';
import * as leaf from '../../src/settings/leaves.ts';
import { env, minimal, rack } from './examples.ts';

/** Every driver, as messages list them. */
const NAMES = ['equinix', 'hetzner-robot', 'latitude', 'redfish', 'static'];

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-providers-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A configuration with these providers instead of the default one. */
const withProviders = (providers: object) => ({ ...minimal(), providers });
const parse = (providers: object) =>
  parseConfig(withProviders(providers), { env, baseDirectory: directory });
test('gives every driver the common keys, and each its own', () => {
  const { providers } = parse({ rack, cloud: minimal().providers.equinix });
  expect(providers['rack']).toMatchObject({ callsPerSecond: 10, sharedTags: {} });
  expect(ownSettingsOf(providers['rack']!)).toEqual({
    inventory: join(directory, 'machines.json'),
    refresh: 300_000,
    resets: {},
    sshUser: 'root',
    sshPasswords: {},
    probePort: 22,
    probeInterval: 60_000,
    probeTimeout: 3_000,
    probeParallelism: 32,
  });
  expect(ownSettingsOf(providers['cloud']!)).toMatchObject({ devicePrefix: 'shepherd-test-' });
});

test('B4: treats host keys of a static list strictly, unless the provider differs', () => {
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
});

test('reads lines of the first boot, and never shows them', () => {
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

test('takes the limit of machines from the provider, or the default', () => {
  const config = parse({ rack: { ...rack, maxMachines: 0 }, cloud: minimal().providers.equinix });
  expect(['rack', 'cloud', 'none'].map((name) => machinesMaxOf(config, name))).toEqual([0, 50, 50]);
});

test('refuses a driver whose key is a common key', () => {
  const driver: Driver = {
    name: 'rack',
    settings: () => z.strictObject({ image: leaf.text('Image.') }),
    open: () => {
      throw new Error('not opened');
    },
  };
  const around = { env: {}, baseDirectory: '/', checkFiles: false };
  expect(() => providerSettingsOf(driver, around)).toThrow('driver rack: image is no key');
});

test('shows the keys of each driver in a list of its own', () => {
  const [all, ...own] = configList().split(/^### Keys of the driver /m);
  expect(all).toContain(`- \`providers.<name>.driver\` (one of ${NAMES.join(', ')}, required): `);
  expect(all).not.toContain('projectId');
  expect(own.map((text) => text.split('\n')[0])).toEqual(
    [...NAMES, ...BALANCER_DRIVERS.keys()].map((name) => `\`${name}\``),
  );
  const keysOf = (name: string) => own[NAMES.indexOf(name)];
  expect(keysOf('equinix')).toContain('- `providers.<name>.token` (reference, required): ');
  expect(keysOf('static')).toContain('`providers.<name>.inventory`');
  expect(keysOf('static')).not.toContain('instanceSetId');
});
