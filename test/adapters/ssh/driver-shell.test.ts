import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { HostKeyRule, SeenHostKey } from '../../../src/adapters/provider/port.ts';
import { fingerprintOf } from '../../../src/adapters/ssh/port.ts';
import { Denied, isProviderError, NotListening, TimedOut } from '../../../src/domain/errors.ts';
import { createFakeDriverShell } from '../../doubles/fake-driver-shell.ts';
import { createFakeHost, type FakeHost } from '../../doubles/fake-shell.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { testRows } from '../../support/rows.ts';

const call = { signal: new AbortController().signal };
const KEY = Buffer.from('the key of this machine').toString('base64');
const OTHER = Buffer.from('the key of another one').toString('base64');
const md5Of = (key: string) =>
  createHash('md5')
    .update(Buffer.from(key, 'base64'))
    .digest('hex')
    .replaceAll(/(..)(?!$)/g, '$1:');

function stand(host: Partial<FakeHost> = {}) {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const hosts = new Map([['10.0.0.1:22', createFakeHost({ hostKey: KEY, ...host })]]);
  const { shell, targets } = createFakeDriverShell({ hosts, clock, log });
  const connect = (hostKey: HostKeyRule, more: object = {}) =>
    shell.connect({ host: '10.0.0.1', port: 22, username: 'root', hostKey, ...more }, call);
  return { clock, log, targets, connect };
}

testRows([
  ['SHA-256', fingerprintOf(KEY)],
  ['SHA-256 with padding', `${fingerprintOf(KEY)}=`],
  ['MD5', md5Of(KEY)],
  ['MD5 with its name, in capitals', `MD5:${md5Of(KEY).toUpperCase()}`],
])('accepts a host key that the vendor reported: %s', async (_, fingerprint) => {
  const { connect, log } = stand();
  const session = await connect({ told: [md5Of(OTHER), fingerprint] });
  expect(session).toMatchObject({ hostKey: KEY, fingerprint: fingerprintOf(KEY) });
  expect(log.lines).toEqual([]);
});

test('hetzner-robot vector 22: ends the connection on any other key as a conflict', async () => {
  const ran: unknown[] = [];
  const { connect } = stand({ run: (argv) => (ran.push(argv), {}) });
  const attempt = connect({ told: [md5Of(OTHER), fingerprintOf(OTHER)] });
  await expect(attempt).rejects.toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(ran).toEqual([]);
});

testRows([
  ['an empty list', { told: [] }],
  ['what is no fingerprint', { told: ['ssh-ed25519 AAAA'] }],
  ['half a fingerprint', { told: ['SHA256:abc'] }],
])('refuses a rule that can prove nothing: %s', async (_, rule) => {
  await expect(stand().connect(rule)).rejects.toMatchObject({ kind: 'invalid' });
});

test('notes and logs an unknown key before any command runs', async () => {
  const { connect, log } = stand();
  const noted: SeenHostKey[] = [];
  const note = async (seen: SeenHostKey) => void noted.push(seen);
  await connect({ unlike: [md5Of(OTHER)], note });
  expect(noted).toEqual([{ hostKey: KEY, fingerprint: fingerprintOf(KEY) }]);
  expect(log.count('a host key is accepted without verification')).toBe(1);
});

test('refuses and does not note the previous key of the machine', async () => {
  const { connect } = stand();
  const note = () => Promise.reject(new Error('noted'));
  for (const known of [md5Of(KEY), fingerprintOf(KEY)]) {
    const attempt = connect({ unlike: [known], note });
    await expect(attempt).rejects.toMatchObject({ kind: 'conflict' });
  }
});

test('does not trust a key that cannot be noted', async () => {
  const reason = new Error('no database');
  const { connect } = stand();
  await expect(connect({ unlike: [], note: () => Promise.reject(reason) })).rejects.toBe(reason);
});

test('reports the status of a failed command without an error', async () => {
  const run = () => ({ exitCode: 3, stdout: Buffer.from('out'), stderr: Buffer.from('err') });
  const session = await stand({ run }).connect({ told: [fingerprintOf(KEY)] });
  const result = await session.execute({ argv: ['false'] }, call);
  expect(result).toEqual({ exitCode: 3, stdout: 'out', stderr: 'err' });
});

test('sends variables on the input before the input of the command', async () => {
  const asked: string[] = [];
  const run = (argv: readonly string[], stdin: Buffer) => (asked.push(...argv, `${stdin}`), {});
  const session = await stand({ run }).connect({ told: [fingerprintOf(KEY)] });
  const command = { argv: ['cat', '-'], env: { SECRET: 'hush' }, stdin: 'input' };
  await session.execute(command, call);
  expect(asked).toEqual(["SECRET='hush'", 'cat', '-', 'input']);
  for (const env of [{ 'A B': '1' }, { A: 'zero\0' }]) {
    const refused = session.execute({ argv: ['true'], env }, call);
    await expect(refused).rejects.toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  }
});

test.each<[string, Partial<FakeHost>, string, object]>([
  ['nobody listens', { unreachable: true }, 'transient', { cause: expect.any(NotListening) }],
  ['every key is refused', { refusesKey: true }, 'auth', { cause: expect.any(Denied) }],
])('connects: %s', async (_, host, kind, more) => {
  const attempt = stand(host).connect({ told: [fingerprintOf(KEY)] });
  await expect(attempt).rejects.toMatchObject({ kind, outcome: 'not-done', ...more });
});

test('ends a hanging command at its limit, and reports that it may have run', async () => {
  const { connect, clock, targets } = stand({ hangs: 'execute' });
  const limits = { executeMs: 5_000 };
  const session = await connect({ told: [fingerprintOf(KEY)] }, { limits, keyFile: '/a/key' });
  const running = session.execute({ argv: ['installimage'] }, call);
  clock.increment(5_000);
  const error: unknown = await running.catch((thrown: unknown) => thrown);
  expect(isProviderError(error, 'transient')).toBe(true);
  expect(error).toMatchObject({ outcome: 'unknown', cause: expect.any(TimedOut) });
  expect(targets).toEqual([{ keyFile: '/a/key', limits }]);
});

test('ends running commands on a signal', async () => {
  const leaving = new AbortController();
  const session = await stand({ hangs: 'upload' }).connect({ told: [fingerprintOf(KEY)] });
  const file = { content: 'x', mode: 0o600 };
  const running = session.upload('/root/a', file, { signal: leaving.signal });
  leaving.abort();
  await expect(running).rejects.toMatchObject({ kind: 'aborted', outcome: 'unknown' });
});
