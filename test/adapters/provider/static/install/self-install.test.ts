import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMemoryRecords } from '../../../../../src/adapters/driver-kit/memory-shell.ts';
import { staticDriver } from '../../../../../src/adapters/provider/static/driver.ts';
import { providerName } from '../../../../../src/domain/ids.ts';
import { SECRET_TAG } from '../../../../../src/domain/provisioning/provider-tags.ts';
import { createFakeDriverShell } from '../../../../doubles/fake-driver-shell.ts';
import { createFakeHost } from '../../../../doubles/fake-shell.ts';
import { createMemoryNetwork } from '../../../../doubles/memory-network.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  runOut,
} from '../../../../doubles/simulated-clock.ts';
import { NO_SESSION } from '../../../../doubles/scripted-driver.ts';
import { callOf, driverContext, failureOf, publicKeyLine } from '../../driver-stand.ts';
import { SOUND } from './sound.ts';

const MINUTE_MS = 60_000;
const OLD_KEY = publicKeyLine(1);
const NEW_KEY = publicKeyLine(2);
const blobOf = (line: string) => line.split(' ')[1]!;
const SECRET_HASH = createHash('sha256').update('secret').digest('hex');
const REQUEST = {
  ...{ image: null, publicKey: publicKeyLine(9), initCommand: 'true' },
  tags: { [SECRET_TAG]: SECRET_HASH },
};

/** A list with one machine, and daemons that share records. */
function start(entry: object = {}) {
  const clock = createSimulatedClock();
  const network = createMemoryNetwork(clock);
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-self-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const files = { linux: 'kernel', initrd: 'initramfs', arguments: 'console=tty0' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const list = (change: object = {}) =>
    writeFileSync(
      join(directory, 'machines.json'),
      JSON.stringify([
        { ID: 'a', Location: '', Addr: '192.0.2.7', HostKey: OLD_KEY, ...entry, ...change },
      ]),
    );
  list();
  const reading: Record<string, string> = { ...SOUND };
  const started: string[] = [];
  let refusal: string | null = null;
  const host = createFakeHost({
    hostKey: blobOf(OLD_KEY),
    run(argv, stdin) {
      const script = stdin.toString();
      const lines = Object.entries(reading).map(([name, value]) => `${name} ${value}\n`);
      if (script.includes('tell hostname')) return { stdout: Buffer.from(lines.join('')) };
      if (!script.includes('kexec -l')) return {};
      started.push(argv.join(' '));
      return refusal === null ? {} : { exitCode: 44, stderr: Buffer.from(refusal) };
    },
  });
  const { shell } = createFakeDriverShell({ clock, hosts: new Map([['192.0.2.7:22', host]]) });
  const records = createMemoryRecords(createSeededRandom(3))(providerName('rack'));
  const around = { env: { SEED_KEY: 'k'.repeat(40) }, baseDirectory: directory, checkFiles: true };
  const settings = staticDriver.settings(around).parse({
    inventory: 'file:machines.json',
    // Virtual time does not wait for a file.
    refresh: '2h',
    install: {
      ...{ installer: '.', seedListen: '127.0.0.1:8080', seedUrl: 'http://127.0.0.1:8080' },
      image: { url: 'http://images.test/a.raw', sha256: 'ab'.repeat(32) },
      seedKey: '${SEED_KEY}',
    },
  }) as never;
  const open = () => {
    const provider = staticDriver.open(
      settings,
      driverContext('rack', { clock, network, shell, records }),
    );
    onTestFinished(() => runOut(clock, provider.stop()));
    return provider;
  };
  const provider = open();
  const run = <T>(task: Promise<T>): Promise<T> => runOut(clock, task);
  const reinstall = (change = {}) => run(provider.reinstallMachine('a', REQUEST, callOf(change)));
  return {
    complaints: () => staticDriver.check!(settings, { hostKeyPolicy: 'strict' } as never),
    ...{ clock, directory, host, list, provider, open, reading, started, records, run, reinstall },
    refuse: (why: string | null) => (refusal = why),
    seed: () => /shepherd\.seed=(\S+)/.exec(started.at(-1)!)![1]!,
    ask: (url: string, method = 'GET') => run(network.fetch(url, { method })),
    async shown(from = provider) {
      const { machines } = await run(from.listMachines({}, callOf()));
      return machines[0]!;
    },
    after: (ms: number) => advance(clock, ms),
    verify: (key: string) =>
      run(
        provider.verifyHostKey(
          { id: 'a' } as never,
          Buffer.from(blobOf(key), 'base64'),
          callOf(),
          NO_SESSION,
        ),
      ),
  };
}

test('boots the installer, which asks for its seed and reports; then the secret proves the machine', async () => {
  const { shown, reinstall, ask, seed, host, verify, list, after, ...stand } = start();
  expect(await shown()).toMatchObject({ hostKey: blobOf(OLD_KEY), tags: {} });
  const order: string[] = [];
  await reinstall({
    requireOurs: () => void order.push('ours'),
    beforeSending: async () => void order.push(`sending ${stand.started.length}`),
  });
  expect(order).toEqual(['ours', 'sending 0']);
  expect([...host.files.keys()]).toEqual([
    expect.stringMatching(/^\/var\/lib\/shepherd\/installer-[0-9a-f]{16}\/linux$/),
    expect.stringMatching(/\/initrd$/),
  ]);
  expect(stand.started).toHaveLength(1);
  expect(stand.started[0]).toContain(
    'console=tty0 shepherd.net=02:00:00:00:00:01,192.0.2.7/24,192.0.2.1,192.0.2.53',
  );
  const during = await shown();
  expect(during).toMatchObject({ id: 'a', status: 'Provisioning', failed: false });
  expect(during).not.toHaveProperty('hostKey');
  expect(during.tags).toMatchObject(REQUEST.tags);
  expect(await (await ask(`${seed()}install`)).text()).toContain(
    'image=http://images.test/a.raw\n',
  );
  expect(await (await ask(`${seed()}user-data`)).text()).toContain('hostname: web-1');
  expect((await ask(`${seed()}done`, 'POST')).status).toBe(200);
  expect(await shown()).toMatchObject({ status: 'Unknown', failed: false, tags: REQUEST.tags });
  // Only the core knows how to compare the secret; the key in the list is that of the old system.
  expect(await failureOf(verify(OLD_KEY))).toMatchObject({ kind: 'not-implemented' });
  list({ HostKey: NEW_KEY });
  await after(10_000);
  await verify(NEW_KEY);
  expect(await shown()).toMatchObject({ hostKey: blobOf(NEW_KEY) });
});

test('nothing is put on a machine with a fault, and nothing is recorded', async () => {
  const { reading, reinstall, host, started, records } = start({ Disk: 'S4' });
  reading['disk'] = '';
  const error = await failureOf(reinstall());
  expect(error).toMatchObject({ kind: 'invalid' });
  expect(error.message).toContain('0 disks match S4');
  expect([host.files.size, started.length]).toEqual([0, 0]);
  expect(await records.all({ signal: new AbortController().signal })).toEqual([]);
});

test('another machine at the address is never touched', async () => {
  const { host, reinstall, started, list, after } = start();
  host.hostKey = blobOf(NEW_KEY);
  expect(await failureOf(reinstall())).toMatchObject({ kind: 'conflict' });
  list({ HostKey: undefined });
  await after(10_000);
  const error = await failureOf(reinstall());
  expect(error).toMatchObject({ kind: 'invalid' });
  expect(error.message).toContain('needs a HostKey');
  expect([host.files.size, started.length]).toEqual([0, 0]);
});

test('if kexec refuses, the machine is as before', async () => {
  const { refuse, reinstall, shown } = start();
  refuse('kexec_file_load failed: Operation not permitted');
  const error = await failureOf(reinstall());
  expect(error).toMatchObject({ kind: 'permanent', outcome: 'not-done' });
  expect(error.message).toContain('Operation not permitted');
  expect(await shown()).toMatchObject({ hostKey: blobOf(OLD_KEY), status: 'Unknown' });
});

test('a second order during an installation is refused, by every daemon', async () => {
  const { reinstall, open, run, started } = start();
  await reinstall();
  expect(await failureOf(reinstall())).toMatchObject({ kind: 'conflict' });
  const other = open();
  const again = run(other.reinstallMachine('a', REQUEST, callOf()));
  expect(await failureOf(again)).toMatchObject({ kind: 'conflict' });
  expect(started).toHaveLength(1);
});

test('the system that answers after a while was not installed: any daemon finds out', async () => {
  const { reinstall, open, shown, after, seed, ask } = start();
  await reinstall();
  const other = open();
  await after(5 * MINUTE_MS);
  expect(await shown(other)).toMatchObject({ status: 'Provisioning' });
  await after(11 * MINUTE_MS);
  await shown(other);
  await after(1_000);
  expect(await shown(other)).toMatchObject({ hostKey: blobOf(OLD_KEY), status: 'Unknown' });
  // An installer that comes too late finds no seed, and writes nothing.
  expect((await ask(`${seed()}install`)).status).toBe(404);
});

test('an installer that has its seed is not given up before the window ends', async () => {
  const { reinstall, shown, after, seed, ask, host } = start();
  await reinstall();
  await ask(`${seed()}install`);
  host.unreachable = true;
  await after(40 * MINUTE_MS);
  await shown();
  await after(1_000);
  expect(await shown()).toMatchObject({ status: 'Provisioning' });
  await after(6 * MINUTE_MS);
  await shown();
  await after(1_000);
  expect(await shown()).toMatchObject({ status: 'ProvisioningFailedPermanent', failed: true });
});

test('after a failure that left the old system alone, the machine is as before', async () => {
  const { reinstall, shown, after, seed, ask, host } = start();
  await reinstall();
  await ask(`${seed()}install`);
  host.unreachable = true;
  await ask(`${seed()}failed`, 'POST');
  expect(await shown()).toMatchObject({ failed: true });
  host.unreachable = false;
  await after(2 * MINUTE_MS);
  await shown();
  await after(1_000);
  expect(await shown()).toMatchObject({ hostKey: blobOf(OLD_KEY), status: 'Unknown' });
});

test('an installed machine is proved by its secret before it is installed again', async () => {
  const { reinstall, shown, after, seed, ask, host, reading, started } = start();
  await reinstall();
  await ask(`${seed()}done`, 'POST');
  host.hostKey = blobOf(NEW_KEY);
  // The hash is no secret: whoever reads the tags knows it.
  for (const secret of ['', SECRET_HASH]) {
    reading['secret'] = secret;
    const error = await failureOf(reinstall());
    expect(error).toMatchObject({ kind: 'conflict' });
    expect(error.message).toContain('does not show the secret');
  }
  expect(started).toHaveLength(1);
  reading['secret'] = 'secret';
  await reinstall();
  expect(started).toHaveLength(2);
  // It answers with its secret after the failure, so it is as before.
  await ask(`${seed()}failed`, 'POST');
  await shown();
  await after(1_000);
  expect(await shown()).toMatchObject({ failed: false, tags: REQUEST.tags });
  await reinstall();
  expect(started).toHaveLength(3);
});

test('the installer gets the disk by a name that its kernel finds, whatever the list says then', async () => {
  const { reinstall, ask, seed, reading, list, after } = start({ Disk: 'sda' });
  reading['lasting'] = 's4ewnx0r';
  await reinstall();
  list({ Disk: 'sdb' });
  await after(10_000);
  expect(await (await ask(`${seed()}install`)).text()).toContain('disk=s4ewnx0r\n');
});

test('a person’s own system, with its key in the list, ends a failure', async () => {
  const { reinstall, ask, seed, shown, host, list, after, verify } = start();
  await reinstall();
  await ask(`${seed()}failed`, 'POST');
  host.hostKey = blobOf(NEW_KEY);
  await shown();
  await after(2 * MINUTE_MS);
  expect(await shown()).toMatchObject({ failed: true });
  list({ HostKey: NEW_KEY });
  await after(2 * MINUTE_MS);
  await verify(NEW_KEY);
  await shown();
  await after(1_000);
  const { tags, ...machine } = await shown();
  expect(machine).toMatchObject({ hostKey: blobOf(NEW_KEY), status: 'Unknown' });
  expect(tags).not.toHaveProperty(SECRET_TAG);
});

test('an installer without its words is a fault before anything is recorded, and of the configuration', async () => {
  const { reinstall, records, directory, started, complaints } = start();
  expect(await complaints()).toEqual([]);
  rmSync(join(directory, 'arguments'));
  await reinstall().catch(() => undefined);
  expect([started, await records.all({ signal: new AbortController().signal })]).toEqual([[], []]);
  rmSync(join(directory, 'linux'));
  expect(await complaints()).toEqual([
    { key: 'install', message: expect.stringContaining('lacks arguments, linux;') as unknown },
  ]);
});
