import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { EventEmitter } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { DriverContext, Provider } from '../../../../src/adapters/provider/port.ts';
import { staticDriver } from '../../../../src/adapters/provider/static/driver.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { createMemoryNetwork, type MemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { callOf, driverContext, INSTANCE_SET_ID } from '../driver-stand.ts';
import { NO_SESSION } from '../../../doubles/scripted-driver.ts';

let directory: string;
let path: string;
let clock: VirtualClock;
let network: MemoryNetwork;
beforeEach(() => {
  clock = createSimulatedClock();
  network = createMemoryNetwork(clock);
  directory = mkdtempSync(join(tmpdir(), 'shepherd-static-'));
  path = join(directory, 'machines.json');
  onTestFinished(() => rmSync(directory, { recursive: true }));
});

const entry = (id: string, change: object = {}) => ({
  ID: id,
  Addr: '127.0.0.1',
  Location: 'rack-7',
  SshPort: 1,
  ...change,
});
const write = (...entries: object[]) => writeFileSync(path, JSON.stringify(entries));

function provide(settings: object = {}, change: Partial<DriverContext> = {}): Provider {
  const around = { env: {}, baseDirectory: directory, checkFiles: true };
  const own = staticDriver
    .settings(around)
    .parse({ inventory: 'file:machines.json', ...settings }) as never;
  const provider = staticDriver.open(own, driverContext('rack', { clock, network, ...change }));
  onTestFinished(() => run(provider.stop()));
  return provider;
}
const run = <T>(task: Promise<T>): Promise<T> => runOut(clock, task);
const list = (provider: Provider) => run(provider.listMachines({}, callOf()));
const idsOf = async (provider: Provider) => (await list(provider)).machines.map(({ id }) => id);
const prepare = (provider: Provider) => run(provider.prepare!(callOf()));
const listener = () => network.listen(new EventEmitter(), { host: '127.0.0.1', port: 0 });

function page(answer: RequestListener): string {
  const { host, port } = network.listen(createServer(answer), { host: '127.0.0.1', port: 0 });
  return `http://${host}:${port}/machines.json`;
}

test('marks every entry as ours and possibly in use, and as up if a server listens', async () => {
  const { port } = listener();
  write(entry('a', { SshPort: port, SshUser: 'admin' }), entry('b', { Location: '' }));
  const { machines, complete } = await list(provide());
  expect(complete).toBe(true);
  expect(machines).toMatchObject([
    { id: 'a', status: 'Running', remoteUser: 'admin', address: `127.0.0.1:${port}` },
    { id: 'b', status: 'Unknown', remoteUser: 'root', location: null },
  ]);
  for (const machine of machines) {
    expect(machine).toMatchObject({ availability: 'PossiblyUsed', reservationId: null });
    expect(machine.tags).toEqual({ [SET_ID_TAG]: INSTANCE_SET_ID });
  }
});

test('gives every id a host name, whatever its letters', () => {
  write(entry('SRV 1'));
  expect(provide().hostnameFor!('SRV 1')).toBe('srv-1');
});

test('trusts answers for a while, then tries the machines again', async () => {
  const { port, close } = listener();
  write(entry('a', { SshPort: port }));
  const provider = provide({ probeInterval: '30s' });
  const status = async () => (await list(provider)).machines[0]!.status;
  expect(await status()).toBe('Running');
  await close();
  expect(await status()).toBe('Running');
  clock.increment(30_000);
  expect(await status()).toBe('Unknown');
  expect(clock.pending, 'no timer is left').toBe(0);
});

test('reads the file again after a while, and on demand', async () => {
  write(entry('a'));
  const provider = provide({ refresh: '1m' });
  expect(await idsOf(provider)).toEqual(['a']);
  write(entry('a'), entry('b', { SshPort: 2 }));
  expect(await idsOf(provider)).toEqual(['a']);
  clock.increment(60_000);
  expect(await idsOf(provider)).toEqual(['a', 'b']);
  write(entry('c'));
  await prepare(provider);
  expect(await idsOf(provider)).toEqual(['c']);
});

test('learns soon about one machine that it is gone', async () => {
  write(entry('a'), entry('b', { SshPort: 2 }));
  const provider = provide({});
  expect((await run(provider.getMachine('a', callOf()))).id).toBe('a');
  write(entry('b', { SshPort: 2 }));
  clock.increment(10_000);
  const gone = run(provider.getMachine('a', callOf()));
  await expect(gone).rejects.toMatchObject({ kind: 'not-found' });
});

test('keeps the last good list, and reports the refused one', async () => {
  write(entry('a'));
  const log = recordingLog();
  const provider = provide({ refresh: '1m' }, { log });
  expect(await idsOf(provider)).toEqual(['a']);
  write(entry('a'), entry('b', { Addr: 'nowhere' }));
  clock.increment(60_000);
  expect(await idsOf(provider)).toEqual(['a']);
  rmSync(path);
  clock.increment(60_000);
  expect(await idsOf(provider)).toEqual(['a']);
  const causes = log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields);
  expect(causes).toMatchObject([
    { cause: expect.stringContaining('entry 2 ("b"): Addr') },
    { cause: expect.stringContaining('cannot be read') },
  ]);
});

test('lists nothing without a good copy, and states why', async () => {
  const absent = prepare(provide());
  await expect(absent).rejects.toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  write(entry('a', { Addr: '' }));
  const wrong = list(provide());
  await expect(wrong).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('entry 1 ("a"): Addr is ""'),
  });
});

/** A page that supports ETags and returns the test's content. */
function taggedPage(content: string) {
  let current = content;
  const answers: number[] = [];
  const url = page((request, response) => {
    const etag = `"${Buffer.from(current).toString('base64url')}"`;
    expect(request.headers['user-agent']).toBe('test/1');
    answers.push(request.headers['if-none-match'] === etag ? 304 : 200);
    if (answers.at(-1) === 304) response.writeHead(304).end();
    else response.writeHead(200, { etag }).end(current);
  });
  return { url, answers, say: (next: string) => void (current = next) };
}
const good = (...ids: string[]) =>
  JSON.stringify(ids.map((id, index) => entry(id, { SshPort: index + 1 })));

test('refuses a bad list each time for the same reason until it is good', async () => {
  const { url, say, answers } = taggedPage('[{"ID":7}]');
  const provider = provide({ inventory: url });
  for (let turn = 0; turn < 3; turn++) {
    const outcome = prepare(provider);
    await expect(outcome).rejects.toMatchObject({ message: expect.stringContaining('ID is 7') });
  }
  say(good('a'));
  expect(await idsOf(provider)).toEqual(['a']);
  await prepare(provider);
  expect(answers, 'it is asked whether it changed').toEqual([200, 200, 200, 200, 304]);
});

test('reports a bad list once, reminds of it, and reports again when it changes', async () => {
  const { url, say } = taggedPage(good('a'));
  const log = recordingLog();
  const provider = provide({ inventory: url }, { log });
  const look = async () => {
    await prepare(provider);
    return log.count('the inventory is unusable; the last good copy stays in use');
  };
  await look();
  say('[{"ID":7}]');
  expect([await look(), await look()], 'once').toEqual([1, 1]);
  say('[{"ID":8}]');
  expect([await look(), await look()], 'another fault').toEqual([2, 2]);
  clock.increment(3_600_000);
  expect([await look(), await look()], 'an hour later').toEqual([3, 3]);
  expect(await idsOf(provider)).toEqual(['a']);
  say(good('a', 'b'));
  expect([await look(), log.count('the inventory is usable again')]).toEqual([3, 1]);
  expect(await idsOf(provider)).toEqual(['a', 'b']);
  say('[{"ID":8}]');
  expect(await look(), 'and anew').toBe(4);
});

test.each([
  [204, 'permanent'],
  [302, 'permanent'],
  [404, 'transient'],
  [410, 'transient'],
  [500, 'transient'],
])('reads no inventory from a page that answers %i', async (status, kind) => {
  const inventory = page((_, response) =>
    response.writeHead(status, { location: '/elsewhere' }).end(status === 204 ? '' : '[]'),
  );
  const outcome = prepare(provide({ inventory }));
  await expect(outcome).rejects.toMatchObject({ kind });
});

test('cuts an endless page off, and gives up on a silent one', async () => {
  const endless = page((_, response) => {
    const chunk = ' '.repeat(1024 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      response.once('drain', more);
    };
    more();
  });
  const long = prepare(provide({ inventory: endless }));
  await expect(long).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('longer than 10485760'),
  });

  const outcome = prepare(provide({ inventory: page(() => undefined) }));
  await expect(outcome).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringContaining('10000 ms'),
  });
});

const blob = Buffer.concat([
  Buffer.from([0, 0, 0, 11]),
  Buffer.from('ssh-ed25519'),
  Buffer.alloc(36),
]);
const HostKey = `ssh-ed25519 ${blob.toString('base64')}`;

test('B4: accepts the host key of the list as proof, and explains how to get a missing one', async () => {
  write(entry('a', { HostKey }), entry('b', { Addr: '192.0.2.7', SshPort: 2222 }));
  const provider = provide();
  const { machines } = await list(provider);
  expect(machines[0]!.hostKey).toBe(blob.toString('base64'));
  const verify = (id: string, key: Buffer) =>
    run(provider.verifyHostKey({ id } as ProviderMachine, key, callOf(), NO_SESSION));
  await verify('a', blob);
  await expect(verify('a', Buffer.alloc(4))).rejects.toMatchObject({ kind: 'conflict' });
  await expect(verify('b', blob)).rejects.toMatchObject({
    kind: 'not-implemented',
    message: expect.stringMatching(
      /no key for b: run "ssh-keyscan -p 2222 -t ed25519 192\.0\.2\.7".*"HostKey".*hostKeyPolicy: tofu$/,
    ),
  });
});

test('B4: refers to a password by its entry, stores it elsewhere, and shows it nowhere', async () => {
  writeFileSync(join(directory, 'secret'), 'open sesame\n', { mode: 0o600 });
  const sshPasswords = { rack: 'file:secret' };
  write(entry('a', { HostKey, SshPassword: 'rack' }), entry('b', { SshPort: 2 }));
  const { machines } = await list(provide({ sshPasswords }));
  expect(machines[0]!.sshPassword!.read()).toBe('open sesame');
  expect(machines[1]).not.toHaveProperty('sshPassword');
  expect(`${JSON.stringify(machines)} ${inspect(machines)}`).not.toContain('open sesame');
});

test.each([
  ['Open Sesame!', {}, /SshPassword is not the name of a password; give one from sshPasswords/],
  ['other', {}, /SshPassword is not the name of a password/],
  ['rack', { HostKey: undefined }, /SshPassword needs a HostKey; otherwise any machine/],
])(
  'B4: refuses a list with the password %j, and does not repeat the password',
  async (said, change, why) => {
    const HostKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA';
    writeFileSync(join(directory, 'secret'), 'open sesame\n', { mode: 0o600 });
    write(entry('a', { HostKey, SshPassword: said, ...change }));
    const reading = prepare(provide({ sshPasswords: { rack: 'file:secret' } }));
    await expect(reading).rejects.toThrow(why);
    await expect(reading).rejects.not.toThrow(/Sesame|"other"/);
  },
);

test('ends running calls on stop', async () => {
  const asked = Promise.withResolvers<void>();
  const mute = page(() => asked.resolve());
  const provider = provide({ inventory: mute });
  const outcome = provider.listMachines({}, callOf());
  await asked.promise;
  const stopped = provider.stop();
  await expect(outcome).rejects.toMatchObject({ kind: 'aborted' });
  await stopped;
  await expect(provider.getMachine('a', callOf())).rejects.toMatchObject({ kind: 'stopped' });
});
