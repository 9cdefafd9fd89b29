import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { EquinixEmulator } from '../../emulators/equinix/options.ts';
import { parseWorld } from '../../emulators/equinix/world.ts';
import { requireFile, runProgram, startService } from './debian-client.ts';

/** The service's own Go client, packngo, as Debian has it: with the tests that it was judged by. */
const GOPATH = '/usr/share/gocode';
const CLIENT = 'github.com/packethost/packngo';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Compiled things are kept: only the first run has to compile Go's libraries. */
const BUILT = join(ROOT, 'node_modules/.cache/packngo');

const go = (...args: string[]) =>
  runProgram('/usr/bin/go', args, {
    GOPATH,
    GO111MODULE: 'off',
    GOCACHE: join(BUILT, 'cache'),
    GOTOOLCHAIN: 'local',
  });

beforeAll(async () => {
  requireFile('/usr/bin/go', 'golang-go');
  requireFile(join(GOPATH, 'src', CLIENT), 'golang-github-packethost-packngo-dev');
  await mkdir(BUILT, { recursive: true });
  const program = join(dirname(fileURLToPath(import.meta.url)), 'packngo/fleet.go');
  await go('build', '-o', join(BUILT, 'fleet'), program);
  await go('test', '-c', '-o', join(BUILT, 'acceptance'), CLIENT);
});

let fake: EquinixEmulator | undefined;
afterEach(async () => {
  await fake?.close();
  expect(fake?.violations()).toEqual([]);
});

test('A: a program written with packngo sees, makes and ends devices on reservations', async () => {
  fake = await startService({ basePath: '/', reservations: 13 });
  const printed = await runProgram(join(BUILT, 'fleet'), [`${fake.url}/`, fake.projectId], {
    EQUINIX_TOKEN: fake.tokens.user,
  });
  expect(JSON.parse(printed)).toEqual({
    reservations: 13,
    devices: 13,
    left: 0,
    steps: 10,
    customdata: { made: 'by packngo' },
    plan: 'm3.large.x86',
    facility: 'fr2',
    networkType: 'layer3',
    address: expect.stringMatching(/^198\.18\./),
    reserved: 'packngo-00',
    locked: 'true',
    events: expect.objectContaining({
      'device.created': true,
      'provisioning.101': true,
      'provisioning.110': true,
      'power_off.requested': true,
      'power_on.requested': true,
      'reboot.requested': true,
    }),
  });
  const pages = fake.requests().filter(({ route }) => route === '/projects/{id}/devices');
  expect(pages.some(({ query }) => query['page'] === '2')).toBe(true);
  expect(fake.requests().filter(({ status }) => status === null || status >= 500)).toEqual([]);
});

/** What packngo's tests expect to be on sale. */
const THEIR_WORLD = parseWorld({
  plans: [{ slug: 'baremetal_0' }],
  operatingSystems: [{ slug: 'ubuntu_16_04' }, { slug: 'custom_ipxe' }],
  metros: [{ code: 'ny' }, { code: 'ty' }, { code: 'da' }],
  facilities: [
    { code: 'ewr1', metro: 'ny' },
    { code: 'nrt1', metro: 'ty' },
    { code: 'dfw1', metro: 'da' },
    { code: 'fra1', metro: 'fr' },
  ],
});
/**
 * Their tests of what the emulator has. Not those of volumes, VLANs, BGP, VPN, addresses, spot prices,
 * batches, users and organisations, and never the one that asks the vendor's own address.
 */
const THEIR_TESTS = [
  ...['DeviceUpdate', 'DeviceBasic', 'DevicePXE', 'DeviceCustomData'],
  ...['DeviceSSHKeys', 'DeviceListedSSHKeys', 'DeviceCreateFacilities'],
  ...['ListDeviceEvents', 'ListHardwareReservations', 'Facilities', 'OS', 'Plans'],
  'ProjectListPagination',
  ...['SSHKeyList', 'SSHKeyProjectList', 'SSHKeyGet', 'SSHKeyCreate', 'SSHKeyDelete'],
  ...['SSHKeyStringUpdate', 'SSHKeyLabelUpdate', 'SSHKeyUpdate'],
].map((name) => `TestAcc${name}`);

test('A: the acceptance tests that packngo was judged by pass here too', async () => {
  fake = await startService({ basePath: '/', world: THEIR_WORLD });
  const printed = await runProgram(
    join(BUILT, 'acceptance'),
    ['-test.v', '-test.parallel=20', `-test.run=^(${THEIR_TESTS.join('|')})$`],
    {
      PACKNGO_TEST_ACTUAL_API: '1',
      PACKNGO_TEST_FACILITY: 'ewr1',
      // Whatever they are after, the internet they do not reach.
      HTTPS_PROXY: 'http://127.0.0.1:9',
      PACKET_API_URL: `${fake.url}/`,
      PACKET_AUTH_TOKEN: fake.tokens.user,
    },
  ).catch((error: { stdout?: string }) => error.stdout ?? String(error));
  const results = [...printed.matchAll(/^--- (\w+): (\w+)/gm)].map(([, result, name]) => [
    name,
    result,
  ]);
  const failures = printed.split('\n').filter((line) => /_test\.go:|^panic/.test(line));
  expect([Object.fromEntries(results), failures]).toEqual([
    Object.fromEntries(THEIR_TESTS.map((name) => [name, 'PASS'])),
    [],
  ]);
});
