import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CLASS_NAMES } from '../../src/adapters/provider/hetzner-robot/api.ts';
import { hetznerRobotDriver } from '../../src/adapters/provider/hetzner-robot/driver.ts';
import type { Driver } from '../../src/adapters/provider/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { startRedfishEmulator } from '../../emulators/redfish/emulator.ts';
import { inventoryOf } from '../../emulators/redfish/machines/inventory.ts';
import { createRackMachines } from '../../emulators/redfish/machines/machines.ts';
import { startLatitudeEmulator } from '../../emulators/latitude/emulator.ts';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import { publicBlobOf } from '../../emulators/hosts/keys.ts';
import { startRobotEmulator } from '../../emulators/hetzner-robot/emulator.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { createScaledClock } from './scaled-clock.ts';
import { listOf, runToPass, startHosts, takeDirectory } from './emulated.ts';
import { equinixSection } from './sections.ts';
import { outcomes, resultOf, runTest, skippedIn } from './stand.ts';

const listen = { host: '127.0.0.1', port: 0 };
const NO_CLAIMS = {
  claims: 'the driver keeps no records of its machines',
  'claims-dropped': 'the driver keeps no records of its machines',
};
const MAKES = Object.fromEntries(
  ['existing', 'release'].map((step) => [step, 'the driver creates machines']),
);
const NO_PAUSE = expect.stringMatching(/^no --pause was given; ssh -p PORT \w+@127\.[\d.]+$/);
const BY_SECRET = 'the machine showed its instance secret';

test('equinix passes every step, with machines behind its emulator', async () => {
  const hosts = startHosts({ throwaway: true });
  const fake = await startEquinixEmulator({
    ...{ listen, profile: 'fast', reservations: 3, hooks: hosts, log: silentLog },
  });
  onTestFinished(() => fake.close());
  const around = { env: { TOKEN: fake.tokens.project } };
  const report = await runToPass(equinixSection(fake), { command: 'true' }, around);
  expect(skippedIn(report)).toEqual({ ...MAKES, ...NO_CLAIMS, pause: NO_PAUSE });
  expect(resultOf(report, 'host-key').message).toBe(BY_SECRET);
  expect(resultOf(report, 'stop').message).toBe('a creation was under way');
  expect(hosts.list(), 'no machine is left').toEqual([]);
});

test('latitude passes every step, with machines behind its emulator', async () => {
  const sshPort = await takeFreePort(new Set());
  const hosts = startHosts({ throwaway: true, sshPort });
  const fake = await startLatitudeEmulator({
    ...{ listen, profile: 'fast', hooks: hosts, log: silentLog },
    timings: { startingMs: 20, flashMs: 20, deployingMs: 200, erasingMs: 50, rebootUpMs: 200 },
  });
  onTestFinished(() => fake.close());
  const section = {
    ...{ driver: 'latitude', baseUrl: fake.url, token: '${TOKEN}', project: fake.project },
    slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 2 }],
    ...{ namePrefix: 'conformance-', sshKeyName: 'conformance', callsPerSecond: 0 },
    ...{ readsPerMinute: 600, writesPerMinute: 200, staleOn: '1ms', settle: '1s' },
  };
  const options = { command: 'true', ssh: { port: sshPort } };
  const report = await runToPass(section, options, { env: { TOKEN: fake.token } });
  expect(skippedIn(report)).toEqual({ ...MAKES, ...NO_CLAIMS, pause: NO_PAUSE });
  expect(resultOf(report, 'host-key').message).toBe(BY_SECRET);
  expect(resultOf(report, 'stop').message).toBe('a creation was under way');
  expect(hosts.list(), 'no machine is left').toEqual([]);
  expect(fake.userData(), 'nor a record').toEqual([]);
});

test('hetzner-robot passes every step, with machines behind its emulator', async () => {
  // Each probe reads anew, so that hours of a test take seconds.
  const limits = Object.fromEntries(CLASS_NAMES.map((name) => [name, 10_000]));
  const fake = await startRobotEmulator({
    ...{ listen, profile: 'fast', limits },
    servers: [1, 2].map(() => ({ resetTypes: ['sw', 'hw', 'power', 'power_long', 'man'] })),
    timings: { postMs: 50, rescueBootMs: 400, installMs: 200, diskBootMs: 300, gracefulMs: 50 },
  });
  onTestFinished(() => fake.close());
  // The driver waits only shortly for machines, which act fast here.
  const hasty: Driver<never> = {
    ...(hetznerRobotDriver as unknown as Driver<never>),
    open: (settings, context) =>
      hetznerRobotDriver.open(settings, { ...context, clock: createScaledClock(30) }),
  };
  const section = {
    ...{ driver: 'hetzner-robot', baseUrl: fake.url, user: fake.credentials.user },
    ...{ password: '${PASSWORD}', namePrefix: 'conformance-', freePrefix: 'free-' },
    ...{ sshKeyName: 'conformance', image: 'Debian-1301-trixie-amd64-base.tar.gz' },
    ...{ sshPort: fake.sshPort, listCache: '0s', limits, callsPerSecond: 0 },
  };
  const drivers = new Map([['hetzner-robot', hasty as unknown as Driver]]);
  const around = { env: { PASSWORD: fake.credentials.password }, drivers };
  const report = await runToPass(section, { command: 'true' }, around);
  expect(skippedIn(report)).toEqual({ ...MAKES, pause: NO_PAUSE });
  expect(resultOf(report, 'host-key').message).toBe(BY_SECRET);
  const [used, other] = fake.servers();
  expect([used, other].map((server) => server?.name)).toEqual(['free-321', 'free-322']);
  expect(Object.values(used!.drives), 'it was wiped').toEqual(['nothing', 'nothing']);
  expect(other!.resets, 'nobody touched it').toEqual([]);
});

/** An account with a server in use that lets the tester's key in, and a free one. */
async function startAccount() {
  const dir = takeDirectory();
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const limits = Object.fromEntries(CLASS_NAMES.map((name) => [name, 10_000]));
  const resetTypes = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
  const fake = await startRobotEmulator({
    ...{ listen, profile: 'fast', limits },
    servers: [{ name: 'mail1', resetTypes, keys: [publicLine] }, { name: 'free-322' }],
    timings: { postMs: 50, diskBootMs: 300, gracefulMs: 50 },
  });
  onTestFinished(() => fake.close());
  const { address } = fake.servers()[0]!;
  await expect.poll(() => fake.answering(address)).not.toBeNull();
  const blob = publicBlobOf(fake.answering(address)!.hostKey).toString('base64');
  const file = join(dir, 'servers.json');
  const HostKey = `ssh-ed25519 ${blob}`;
  writeFileSync(file, JSON.stringify([{ ID: 'mail', Server: '321', Addr: address, HostKey }]));
  const section = {
    ...{ driver: 'hetzner-robot', baseUrl: fake.url, user: fake.credentials.user },
    ...{ password: '${PASSWORD}', adopt: `file:${file}`, sshPort: fake.sshPort },
    ...{ listCache: '0s', limits, callsPerSecond: 0 },
  };
  return { fake, ssh, section, around: { env: { PASSWORD: fake.credentials.password } } };
}

const INSTALLING = {
  ...{ namePrefix: 'conformance-', freePrefix: 'free-', sshKeyName: 'conformance' },
  image: 'Debian-1301-trixie-amd64-base.tar.gz',
};

test.each([
  ['that only adopts', {}, {}],
  ['that also installs, for a named server', INSTALLING, { reservation: 'mail' }],
])('hetzner-robot %s passes with a server in use', async (_, installing, named) => {
  const { fake, ssh, section, around } = await startAccount();
  const report = await runToPass({ ...section, ...installing }, { ssh, ...named }, around);
  expect(skippedIn(report)).toEqual({
    ...{ ...MAKES_NONE, ...NO_COMMAND },
    'tag-changes': refuses('tags'),
    reinstall: refuses('reinstall'),
  });
  expect(resultOf(report, 'existing').message).toBe('mail');
  expect(resultOf(report, 'host-key').message).toBe('the inventory has the key');
  for (const step of ['reboot', 'power', 'release']) {
    expect(resultOf(report, step).outcome).toBe('passed');
  }
  const [used, free] = fake.servers();
  expect(used).toMatchObject({ name: 'mail1', installs: 0, isArmed: false, phase: 'disk' });
  expect(free).toMatchObject({ name: 'free-322', resets: [] });
  const changed = fake.requests().filter(({ method }) => method !== 'GET');
  expect(new Set(changed.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set(['POST /reset/321', ...('reservation' in named ? ['POST /key'] : [])]),
  );
});

/** Steps only for a driver that creates machines. */
const MAKES_NONE = Object.fromEntries(
  [
    ...['unannounced', 'claims', 'claims-dropped', 'create', 'listed', 'tags', 'idempotent'],
    ...['witness', 'rival', 'sweep', 'destroy', 'destroy-again', 'reusable'],
  ].map((step) => [step, 'not supported, and rejected with not-implemented: create']),
);
const NO_COMMAND = { command: 'no --command was given', pause: NO_PAUSE };
const refuses = (need: string) => `not supported, and rejected with not-implemented: ${need}`;

test('latitude that only adopts passes with a server in use', async () => {
  const dir = takeDirectory();
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const hosts = startHosts();
  const fake = await startLatitudeEmulator({
    ...{ listen, profile: 'fast', hooks: hosts, log: silentLog },
    timings: { startingMs: 20, flashMs: 20, deployingMs: 200, rebootUpMs: 200 },
  });
  onTestFinished(() => fake.close());
  const { url, token, project } = fake;
  const make = async (type: string, attributes: object): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ data: { type, attributes: { project, ...attributes } } });
    const reply = await fetch(`${url}/${type}`, { method: 'POST', headers, body });
    return ((await reply.json()) as { data: { id: string } }).data.id;
  };
  const ssh_keys = [await make('ssh_keys', { name: 'mail', public_key: publicLine })];
  const order = { plan: 'c3-small-x86', site: 'ASH', operating_system: 'ubuntu_24_04_x64_lts' };
  const Server = await make('servers', { ...order, hostname: 'mail1', ssh_keys });
  await expect.poll(() => hosts.list()[0]?.up).toBe(true);
  const { hostKey, port: SshPort } = hosts.list()[0]!;
  const { address: Addr } = fake.servers()[0]!;
  const file = join(dir, 'servers.json');
  const HostKey = `ssh-ed25519 ${hostKey}`;
  writeFileSync(
    file,
    JSON.stringify([{ ID: 'mail', Server, Addr, SshPort, SshUser: 'ubuntu', HostKey }]),
  );
  const section = {
    ...{ driver: 'latitude', baseUrl: url, token: '${TOKEN}', project, adopt: `file:${file}` },
    ...{ readsPerMinute: 600, writesPerMinute: 200, callsPerSecond: 0 },
  };
  const before = fake.requests().at(-1)!.seq;
  const report = await runToPass(section, { ssh }, { env: { TOKEN: token } });
  expect(skippedIn(report)).toEqual({
    ...{ ...MAKES_NONE, ...NO_COMMAND },
    'tag-changes': refuses('tags'),
    reinstall: refuses('reinstall'),
  });
  for (const step of ['reboot', 'power', 'release']) {
    expect(resultOf(report, step).outcome).toBe('passed');
  }
  const changed = fake.requests(before).filter(({ method }) => method !== 'GET');
  expect(new Set(changed.map(({ route }) => route))).toEqual(new Set(['/servers/{id}/actions']));
});

const BMCS = {
  driver: 'redfish',
  credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
  ...{ bmcGap: '1ms', powerPoll: '1s', callsPerSecond: 0 },
};

test('redfish passes with an existing machine of a rack, including power', async () => {
  const dir = takeDirectory();
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const hosts = startHosts();
  const machines = createRackMachines({ hosts, installed: [publicLine], log: silentLog });
  const fake = await startRedfishEmulator({
    ...{ listen, vendor: 'idrac9', profile: 'fast', hooks: machines.hooks },
  });
  onTestFinished(() => fake.close());
  fake.reset('system-1', 'On');
  await expect.poll(() => fake.bmcs()[0]!.systems[0]!.progress).toBe('OSRunning');
  const inventory = join(dir, 'rack.json');
  writeFileSync(inventory, JSON.stringify(inventoryOf(fake, hosts, true)));
  const around = { env: { BMC_PASSWORD: fake.credentials.password } };
  const report = await runToPass({ ...BMCS, inventory: `file:${inventory}` }, { ssh }, around);
  expect(skippedIn(report)).toEqual({
    ...{ ...MAKES_NONE, ...NO_COMMAND },
    'tag-changes': refuses('tags'),
    reinstall: refuses('reinstall'),
  });
  expect(resultOf(report, 'host-key').message).toBe('the inventory has the key');
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0 });
});

test('static passes with a machine that its BMC resets, and skips what another one lacks', async () => {
  const dir = takeDirectory();
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const hosts = startHosts();
  const machines = createRackMachines({ hosts, installed: [publicLine], log: silentLog });
  const fake = await startRedfishEmulator({
    ...{ listen, vendor: 'idrac9', profile: 'fast', systems: 2, hooks: machines.hooks },
  });
  onTestFinished(() => fake.close());
  for (const name of ['system-1', 'system-2']) fake.reset(name, 'On');
  const progress = () => fake.bmcs().flatMap(({ systems }) => systems.map((each) => each.progress));
  await expect.poll(progress).toEqual(['OSRunning', 'OSRunning']);
  const inventory = join(dir, 'machines.json');
  const entries = inventoryOf(fake, hosts, true).map(
    ({ Bmc, CertSha256, System, Serial, ID, Addr, SshPort, HostKey }, index) => ({
      ...{ ID, Addr, SshPort, HostKey, Location: '' },
      ...(index === 0 && { Reset: { By: 'bmc', Bmc, CertSha256, System, Serial } }),
    }),
  );
  writeFileSync(inventory, JSON.stringify(entries));
  const bmc = { kind: 'redfish', username: 'admin', password: '${BMC_PASSWORD}' };
  const section = { driver: 'static', inventory: `file:${inventory}`, resets: { bmc } };
  const around = { env: { BMC_PASSWORD: fake.credentials.password } };
  const [first, second] = entries.map(({ ID }) => String(ID));
  const report = await runToPass({ ...section }, { ssh, reservation: first! }, around);
  const rest = { 'tag-changes': refuses('tags'), reinstall: refuses('reinstall') };
  expect(skippedIn(report)).toEqual({ ...MAKES_NONE, ...NO_COMMAND, ...rest });
  const bare = await runToPass(section, { ssh, reservation: second! }, around);
  const lacks = expect.stringContaining('not supported by this machine') as string;
  expect(skippedIn(bare)).toEqual({
    ...{ ...MAKES_NONE, ...NO_COMMAND, ...rest },
    ...{ reboot: lacks, power: lacks },
  });
});

test('redfish passes every step with a rack that it installs, and restores it', async () => {
  const port = await takeFreePort(new Set());
  const seedUrl = `http://127.0.0.1:${port}`;
  const hosts = startHosts({ light: true });
  const machines = createRackMachines({ hosts, log: silentLog });
  const fake = await startRedfishEmulator({
    ...{ listen, systems: 3, hooks: machines.hooks },
    timings: { offMs: 20, onMs: 20, gracefulMs: 50, postMs: 50, installMs: 100 },
  });
  onTestFinished(() => fake.close());
  const inventory = join(takeDirectory(), 'machines.json');
  writeFileSync(inventory, JSON.stringify(inventoryOf(fake, hosts, false)));
  const seeds = { seedListen: `127.0.0.1:${port}`, seedKey: '${SEED_KEY}' };
  const install = { method: 'vmedia', iso: `${seedUrl}/images/{token}.iso`, ...seeds };
  const section = { ...BMCS, inventory: `file:${inventory}`, ownerMark: 'assetTag', install };
  const env = { BMC_PASSWORD: fake.credentials.password, SEED_KEY: 's'.repeat(43) };
  const report = await runToPass(section, { command: 'true', timeoutMs: 300_000 }, { env });
  expect(skippedIn(report)).toEqual({ ...MAKES, pause: NO_PAUSE });
  expect(resultOf(report, 'host-key').message).toBe(BY_SECRET);
  for (const { sessions, sessionsMost, requestsMost, systems } of fake.bmcs()) {
    expect([sessions, sessionsMost <= 2, requestsMost <= 2]).toEqual([0, true, true]);
    for (const { assetTag, boot, media } of systems) {
      expect([assetTag, boot.enabled, media.map(({ image }) => image)]).toEqual([
        ...['', 'Disabled', [null, null]],
      ]);
    }
  }
});

const NOT_FOR_LISTS = {
  ...{ ...MAKES_NONE, 'tag-changes': refuses('tags'), reboot: refuses('reboot') },
  ...{ power: refuses('power'), reinstall: refuses('reinstall') },
};

test('static passes with a known key as far as a list permits, and fails with another', async () => {
  const right = await listOf('right');
  const report = await runToPass(right.section, { ssh: right.ssh });
  expect(skippedIn(report)).toEqual({ ...NOT_FOR_LISTS, ...NO_COMMAND });
  expect(resultOf(report, 'host-key').message).toBe('the inventory has the key');

  const { section, ssh } = await listOf('wrong');
  const wrong = await runTest(section, { ssh });
  expect([wrong.exitCode, outcomes(wrong.report)]).toMatchObject([
    1,
    { ssh: 'passed', 'host-key': 'failed', boot: 'not-run' },
  ]);
  const { message } = resultOf(wrong.report, 'host-key');
  expect(message).toMatch(/differs from the one in the inventory/);
});

test('B4: static without a key follows its policy, by default strict', async () => {
  const { section, ssh } = await listOf('none');
  const tofu = await runToPass({ ...section, hostKeyPolicy: 'tofu' }, { ssh });
  expect(resultOf(tofu, 'host-key').message).toMatch(/^no proof of the key; the policy pins/);

  const strict = await runToPass(section, { ssh: { ...ssh, hostKeyPolicy: 'tofu' } });
  expect(skippedIn(strict)).toEqual({
    ...NOT_FOR_LISTS,
    'host-key': 'the inventory knows no host key, and policy is strict',
    boot: 'needs step "host-key", which was skipped',
    command: 'needs step "boot", which was skipped',
    pause: 'needs step "boot", which was skipped',
    release: 'needs step "boot", which was skipped',
  });
});

test('static tests the machine chosen by its id', async () => {
  const { section, ssh } = await listOf('none');
  const wrong = await runTest(section, { ssh, reservation: 'rack-9' });
  expect(wrong.exitCode).toBe(1);
  expect(resultOf(wrong.report, 'existing')).toMatchObject({
    ...{ outcome: 'failed', message: 'the inventory has no such machine' },
  });
  const known = { ...section, hostKeyPolicy: 'tofu' };
  const right = await runToPass(known, { ssh, reservation: 'rack-1', only: ['boot'] });
  expect(resultOf(right, 'existing').message).toBe('rack-1');
});
