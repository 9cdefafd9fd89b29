import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { requireFile, runProgram, startService } from './debian-client.ts';

/** Apache Libcloud's driver, from Debian. */
const PYTHON = '/usr/bin/python3';
const DRIVER = '/usr/lib/python3/dist-packages/libcloud/compute/drivers/equinixmetal.py';
const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'libcloud/fleet.py');
const KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBNnNDXDDGMDZnOIYQPMsFKg6zBcqkxYdqyCqlYqPZpG fleet';

test('A: lets a Libcloud program list, create and destroy devices on demand', async () => {
  requireFile(DRIVER, 'python3-libcloud');
  const fake = await startService({});
  onTestFinished(() => fake.close());
  const { hostname, port } = new URL(fake.url);
  const printed = await runProgram(PYTHON, [PROGRAM, hostname, port, fake.projectId, KEY], {
    EQUINIX_TOKEN: fake.tokens.user,
  });
  const seen = JSON.parse(printed) as Record<string, unknown>;
  expect(seen).toMatchObject({
    projects: ['fleet'],
    created: true,
    deleted: true,
    description: 'renamed',
    sizes: { 'm3.large.x86': true, 'c3.small.x86': true },
    images: { ubuntu_24_04: 'ubuntu', debian_12: 'debian' },
    locations: ['am6', 'fr2', 'sv15'],
    keys: [['libcloud', KEY]],
    node: { name: 'libcloud-0', size: 'c3.small.x86', image: 'debian_12', public: 2, private: 1 },
  });
  expect(seen['events']).toEqual(
    expect.arrayContaining([
      ...['device.created', 'provisioning.101', 'provisioning.110'],
      ...['power_off.requested', 'power_on.requested', 'reboot.requested'],
    ]),
  );
  expect(fake.devices()).toEqual([]);
  expect(fake.violations()).toEqual([]);
  expect(fake.requests().filter(({ status }) => status === null || status >= 400)).toEqual([]);
});
