import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadSshKey, parseSshKey } from '../../src/adapters/ssh/key-file.ts';
import { openSimWorld } from '../../emulators/sim/world.ts';
import { createSimulatedHosts } from '../../emulators/hosts/simulated-hosts.ts';
import { rawKey } from '../adapters/ssh/keys.ts';
import { clientOf, createDevice, start, text } from './equinix/harness.ts';
import { PATIENCE } from '../support/patience.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shepherd-strangers-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

/** Returns the status. Unlike fetch, lets a test choose the Host header. */
const statusOf = (url: string, headers: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });

/** Logs in like a stranger, with a foreign client. Returns how the login ended. */
const logIn = (port: number, privateKey: string) =>
  new Promise<string>((resolve) => {
    const client = new ssh2.Client();
    const end = (how: string) => {
      resolve(how);
      client.end();
    };
    client.on('ready', () => end('let in')).on('error', ({ message }) => end(message));
    client.connect({ host: '127.0.0.1', port, username: 'root', privateKey });
  });
const REFUSED = 'All configured authentication methods failed';

describe('B1: tokens', () => {
  test('B1: makes new tokens and passwords each time, and the same world from the same seed', async () => {
    const secretsOf = async () => {
      const fake = await start({ seed: 3 });
      const call = clientOf(fake);
      const device = await call('GET', `/devices/${await createDevice(fake)}`);
      const password = text(device.body['root_password']);
      const secrets = [...Object.values(fake.tokens), fake.adminToken, password];
      return { secrets, project: fake.projectId };
    };
    const [one, other] = [await secretsOf(), await secretsOf()];
    expect(other.project).toBe(one.project);
    expect(new Set([...one.secrets, ...other.secrets]).size).toBe(8);
  });
});

describe('B1: a page of another site', () => {
  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
  ])('B1: answers nothing to the name %s, rebound to this computer', async (host) => {
    const fake = await start();
    const headers = { host, 'x-auth-token': fake.tokens.user };
    expect(await statusOf(`${fake.url}/projects`, headers)).toBe(421);
    const admin = { host, 'x-fake-admin': fake.adminToken };
    for (const path of ['/state', '/healthz', '/nothing']) {
      expect([path, await statusOf(`${fake.adminUrl}${path}`, admin)]).toEqual([path, 421]);
    }
    expect(fake.requests()).toEqual([]);
  });

  test.each(['127.0.0.1', 'localhost:9999', '[::1]:80'])('B1: answers %s', async (host) => {
    const fake = await start();
    const headers = { host, 'x-auth-token': fake.tokens.user };
    expect(await statusOf(`${fake.url}/projects`, headers)).toBe(200);
  });
});

describe('B1: simulated machines', () => {
  test('B1: opens a fleet’s machine only with the daemon’s key among those that a device lists', async () => {
    const world = await openSimWorld({ machines: 1, light: true, dataDir: dir, log: silentLog });
    try {
      const { emulator } = world;
      const call = clientOf(emulator, emulator.tokens.project);
      const own = await loadSshKey(join(dir, 'ssh-key'));
      const strangers = parseSshKey(rawKey(), 'stranger');
      const keys = `/projects/${emulator.projectId}/ssh-keys`;
      for (const [label, { publicLine }] of [['ours', own] as const, ['his', strangers] as const]) {
        const { status } = await call('POST', keys, { label, key: publicLine });
        expect(status).toBe(201);
      }
      await createDevice(emulator);
      const upAndReady = () => {
        const [host] = world.hosts.list();
        expect(host?.up).toBe(true);
        return host!.port;
      };
      const port = await vi.waitFor(upAndReady, { ...PATIENCE, interval: 50 });
      expect(await logIn(port, strangers.privateKey)).toBe(REFUSED);
      expect(await logIn(port, own.privateKey)).toBe('let in');
    } finally {
      await world.close();
    }
  });
});

describe('B1: files on the disk', () => {
  test('B1: keeps machines private, whatever the umask and earlier files', () => {
    const machines = join(dir, 'machines');
    createSimulatedHosts({
      dir: machines,
      log: silentLog,
      random: { next: () => 0, uuid: () => '' },
    });
    expect(statSync(machines).mode & 0o777).toBe(0o700);
    chmodSync(machines, 0o755);
    createSimulatedHosts({
      dir: machines,
      log: silentLog,
      random: { next: () => 0, uuid: () => '' },
    });
    expect(statSync(machines).mode & 0o777).toBe(0o700);
  });

  test('B1: refuses a directory that others may write to, or that another user owns', async () => {
    const open = () => openSimWorld({ machines: 1, dataDir: dir, log: silentLog });
    chmodSync(dir, 0o777);
    await expect(open()).rejects.toThrow(/others may change .*chmod/);
    chmodSync(dir, 0o700);
    vi.spyOn(process, 'getuid').mockReturnValue(statSync(dir).uid + 1);
    await expect(open()).rejects.toThrow(/belongs to another user/);
  });

  test('B1: refuses a state file that others may read, or that another user owns', async () => {
    const stateFile = join(dir, 'state.json');
    await (await start({ stateFile })).close();
    expect(statSync(stateFile).mode & 0o777).toBe(0o600);
    chmodSync(stateFile, 0o644);
    await expect(start({ stateFile })).rejects.toThrow(/others may read .*chmod go-rwx/);
    chmodSync(stateFile, 0o600);
    vi.spyOn(process, 'getuid').mockReturnValue(statSync(stateFile).uid + 1);
    await expect(start({ stateFile })).rejects.toThrow(/belongs to another user/);
  });
});
