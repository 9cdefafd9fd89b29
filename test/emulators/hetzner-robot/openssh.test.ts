import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { feed } from '../../support/feed.ts';
import { newKey, type Robot, SERVER, type SshKey, startRobot } from './harness.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'robot-openssh-'));
  return () => rmSync(directory, { recursive: true, force: true });
});
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}
const run = (program: string, args: readonly string[], stdin = '') =>
  new Promise<Ended>((resolve) => {
    const child = execFile(program, args, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error ? Number(error.code) : 0 });
    });
    feed(child, stdin);
  });

interface Place {
  readonly host: string;
  readonly port: number;
  readonly username: string;
}

/** Debian's client, which knows the host key that is scanned first, and trusts no other. */
async function ssh(at: Place, key: SshKey, line: string, stdin = ''): Promise<Ended> {
  const { host, port, username } = at;
  const scanned = await run('ssh-keyscan', ['-t', 'ed25519', '-p', String(port), host]);
  const known = file('known_hosts', scanned.stdout);
  const options = [
    ...[`UserKnownHostsFile=${known}`, 'GlobalKnownHostsFile=/dev/null', 'LogLevel=ERROR'],
    ...['StrictHostKeyChecking=yes', 'IdentitiesOnly=yes', 'BatchMode=yes'],
  ];
  const settings = options.flatMap((option) => ['-o', option]);
  const identity = ['-F', '/dev/null', '-i', file('identity', key.pem)];
  const where = ['-p', String(port), `${username}@${host}`, line];
  return run('ssh', [...identity, ...settings, ...where], stdin);
}

/** As OpenSSH writes it. */
async function md5Of(publicLine: string): Promise<string> {
  const { stdout } = await run('ssh-keygen', ['-lE', 'md5', '-f', file('key.pub', publicLine)]);
  return /MD5:([0-9a-f:]+)/.exec(stdout)![1]!;
}

const rescuePlace = ({ fake, machine }: Robot): Place => ({
  host: machine().address,
  port: fake.sshPort,
  username: 'root',
});

test("Debian's ssh reaches the rescue system with the armed key alone", async () => {
  const robot = await startRobot();
  const key = await robot.rescue();
  const place = rescuePlace(robot);
  const said = await ssh(place, key, 'hostname; echo to stderr >&2; cat; exit 7', 'from stdin\n');
  expect(said).toEqual({ stdout: 'rescue\nfrom stdin\n', stderr: 'to stderr\n', code: 7 });
  const refused = await ssh(place, newKey(), 'hostname');
  expect(refused).toMatchObject({ code: 255, stderr: expect.stringMatching(/Permission denied/) });
  const other = await ssh({ ...place, username: 'admin' }, key, 'hostname');
  expect(other.stderr).toMatch(/Permission denied/);
});

test('fingerprints are those that ssh-keygen writes, of keys and of the rescue system', async () => {
  const robot = await startRobot();
  robot.fault({ type: 'hostKey', shows: 'right' });
  const key = newKey();
  const fingerprint = await robot.addKey(key);
  expect(fingerprint).toBe(await md5Of(key.line));
  const form = { os: 'linux', 'authorized_key[]': fingerprint };
  const { body } = await robot.post(`/boot/${SERVER}/rescue`, form);
  await robot.post(`/reset/${SERVER}`, { type: 'hw' });
  await robot.fake.advance(180_000);
  const { host, port } = rescuePlace(robot);
  const scanned = await run('ssh-keyscan', ['-t', 'ed25519', '-p', String(port), host]);
  const shown = await md5Of(scanned.stdout.replace(/^\S+ /, ''));
  expect(body).toMatchObject({ rescue: { host_key: [{ key: { fingerprint: shown } }] } });
});
