import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { readKey } from '../../../src/simulator/hosts/keys.ts';
import { startSshd } from '../../adapters/ssh/sshd.ts';
import { feed } from '../../support/feed.ts';
import { AUTOSETUP, INSTALL_MS } from './fault-steps.ts';
import { newKey, type Robot, SERVER, type SshKey, startRobot } from './harness.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fakerobot-openssh-'));
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
  const options = {
    UserKnownHostsFile: known,
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    IdentitiesOnly: 'yes',
    BatchMode: 'yes',
    LogLevel: 'ERROR',
  };
  const settings = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const identity = ['-F', '/dev/null', '-i', file('identity', key.pem)];
  const where = ['-p', String(port), `${username}@${host}`, line];
  return run('ssh', [...identity, ...settings, ...where], stdin);
}

/** As OpenSSH writes it. */
async function md5Of(publicLine: string): Promise<string> {
  const { stdout } = await run('ssh-keygen', [
    '-l',
    '-E',
    'md5',
    '-f',
    file('key.pub', publicLine),
  ]);
  return /MD5:([0-9a-f:]+)/.exec(stdout)![1]!;
}

const rescuePlace = ({ fake, machine }: Robot): Place => ({
  host: machine().address!,
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
  await robot.fault({ type: 'hostKey', shows: 'right' });
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

/** Sends a command line and its input to the machine, and ends as it ended there. */
const BRIDGE = `
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
const line = process.env.SSH_ORIGINAL_COMMAND ?? '';
const stdin = await text(process.stdin);
const socket = createConnection(process.argv[2]);
socket.end(JSON.stringify({ line, stdin }));
const { stdout, stderr, exitCode } = JSON.parse(await text(socket));
process.stdout.write(Buffer.from(stdout, 'base64'));
process.stderr.write(stderr);
process.exitCode = exitCode;
`;

/** A real sshd in front of the rescue system: it lets in and answers, the machine carries out. */
async function startRescueSshd(robot: Robot, key: SshKey, hostKey: string) {
  const path = join(directory, 'machine.sock');
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // Who hung up is told by its end of the session.
    socket.on('error', () => undefined);
    void text(socket).then(async (sent) => {
      if (sent === '') return void socket.destroy();
      const { line, stdin } = JSON.parse(sent) as { line: string; stdin: string };
      const played = await robot.fake.console(SERVER, line, stdin);
      const stdout = Buffer.from(played.stdout ?? '').toString('base64');
      socket.end(JSON.stringify({ ...played, stdout }));
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const bridge = file('bridge.mjs', BRIDGE);
  const sshd = await startSshd({
    authorizedKeys: [key.line],
    hostKey,
    sftp: 'absent',
    settings: [`ForceCommand ${process.execPath} ${bridge} ${path}`],
  });
  onTestFinished(async () => {
    await sshd.stop();
    await new Promise((resolve) => server.close(resolve));
  });
  return sshd;
}

test('a machine is installed through a rescue system that a real sshd serves', async () => {
  const robot = await startRobot();
  const key = await robot.rescue();
  const hostKey = Buffer.from(
    (await robot.fake.console(SERVER, 'cat /etc/ssh/ssh_host_ed25519_key')).stdout ?? '',
  ).toString();
  const { target } = await startRescueSshd(robot, key, hostKey);
  expect(readKey(hostKey).type).toBe('ssh-ed25519');
  const script = `set -e
mkdir /root/guard
cat > /autosetup <<'END'
${AUTOSETUP}
END
printf '#!/bin/sh\\necho MARKER\\n' > /root/guard/post.sh
nohup sh -c 'installimage -a -c /autosetup -x /root/guard/post.sh && reboot' > /root/guard/log 2>&1 < /dev/null &
echo begun
`;
  const begun = await ssh(target, key, 'sh -s', script);
  expect(begun).toEqual({ stdout: 'begun\n', stderr: '', code: 0 });
  await robot.fake.advance(INSTALL_MS / 2);
  const log = await ssh(target, key, "cat '/root/guard/log'");
  expect(log.stdout).toBe('Starting the installation\n');
  await robot.fake.advance(INSTALL_MS / 2 + 20_000 + 90_000);
  expect(robot.machine()).toMatchObject({ phase: 'disk', hostname: 'shep-1', installs: 1 });
});
