import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadSshKey, parseSshKey } from '../../src/adapters/ssh/key-file.ts';
import { openSimWorld } from '../../emulators/sim/world.ts';
import { createGenerator } from '../../emulators/kit/random.ts';
import { createSimulatedHosts } from '../../emulators/hosts/simulated-hosts.ts';
import { rawKey } from '../adapters/ssh/keys.ts';
import { adminOf, clientOf, start, text } from './equinix/harness.ts';
import { PATIENCE } from '../support/patience.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shepherd-strangers-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

/** What the tokens of the default world were when they came from its seed. */
function derivedTokens(seed: number) {
  const ids = createGenerator(seed);
  // The organisation, its user, and the project.
  for (const _ of [1, 2, 3]) ids.uuid();
  const [user, project, readOnly, admin] = [1, 2, 3, 4].map(() => ids.hex(32));
  return {
    user: `user-${user}`,
    project: `project-${project}`,
    readOnly: `readonly-${readOnly}`,
    admin: `admin-${admin}`,
  };
}

/** Answers the status. Unlike fetch, lets a test choose the Host header. */
const statusOf = (url: string, headers: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });

/** Logs in as a stranger would, with a client that is not ours. Answers how it ended. */
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
  test('B1: a token computed from the seed opens neither the API nor the admin part', async () => {
    for (const seed of [undefined, 1, 7]) {
      const fake = await start(seed === undefined ? {} : { seed });
      const guessed = derivedTokens(seed ?? 1);
      for (const token of [guessed.user, guessed.project, guessed.readOnly]) {
        expect((await clientOf(fake, token)('GET', '/user')).status).toBe(401);
      }
      const asAdmin = { 'x-fake-admin': guessed.admin };
      expect(await statusOf(`${fake.adminUrl}/state`, asAdmin)).toBe(401);
      expect(await statusOf(`${fake.adminUrl}/healthz`, asAdmin)).toBe(200);
    }
  });

  test('B1: a computed token opens nothing of a simulated fleet', async () => {
    const world = await openSimWorld({ machines: 1, light: true, log: silentLog });
    try {
      const { fakequinix } = world;
      const guessed = derivedTokens(1);
      expect((await clientOf(fakequinix, guessed.user)('GET', '/user')).status).toBe(401);
      const asAdmin = { 'x-fake-admin': guessed.admin };
      expect(await statusOf(`${fakequinix.adminUrl}/state`, asAdmin)).toBe(401);
    } finally {
      await world.close();
    }
  });

  test('B1: the same seed gives other tokens and passwords each time, and the same world', async () => {
    const secretsOf = async () => {
      const fake = await start({ seed: 3 });
      const call = clientOf(fake);
      const made = await call('POST', `/projects/${fake.projectId}/devices`, {
        hostname: 'a',
        plan: 'm3.large.x86',
        operating_system: 'ubuntu_22_04',
        hardware_reservation_id: 'next-available',
      });
      const device = await call('GET', `/devices/${text(made.body['id'])}`);
      const secrets = [...Object.values(fake.tokens), text(device.body['root_password'])];
      return { secrets, project: fake.projectId };
    };
    const [one, other] = [await secretsOf(), await secretsOf()];
    expect(other.project).toBe(one.project);
    expect(new Set([...one.secrets, ...other.secrets]).size).toBe(10);
  });

  test('B1: a state file of an earlier release loses its derived tokens, not those of its world', async () => {
    const stateFile = join(dir, 'state.json');
    const listed = { token: 'a-token-of-ours', scope: 'user' } as const;
    const first = await start({ stateFile, world: { tokens: [listed] } });
    await first.close();
    const kept = JSON.parse(readFileSync(stateFile, 'utf8')) as Record<string, unknown>;
    const guessed = derivedTokens(1);
    const old = { ...kept, adminToken: guessed.admin, tokensAreRandom: undefined };
    const tokens = (kept['tokens'] as { value: string; projectId: string | null }[]).map((token) =>
      token.projectId === null ? token : { ...token, value: guessed.project },
    );
    writeFileSync(stateFile, JSON.stringify({ ...old, tokens }));
    const second = await start({ stateFile });
    expect((await clientOf(second, guessed.project)('GET', '/projects')).status).toBe(401);
    const asAdmin = { 'x-fake-admin': guessed.admin };
    expect(await statusOf(`${second.adminUrl}/state`, asAdmin)).toBe(401);
    expect((await clientOf(second, listed.token)('GET', '/user')).status).toBe(200);
    expect((await adminOf(second)('GET', '/state')).status).toBe(200);
    await second.close();
    const third = await start({ stateFile });
    expect(third.tokens).toEqual(second.tokens);
  });
});

describe('B1: a page of another site', () => {
  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
  ])('B1: the name %s, rebound to this computer, is answered by nothing', async (host) => {
    const fake = await start();
    const headers = { host, 'x-auth-token': fake.tokens.user };
    expect(await statusOf(`${fake.url}/user`, headers)).toBe(421);
    const admin = { host, 'x-fake-admin': fake.tokens.admin };
    for (const path of ['/state', '/healthz', '/nothing']) {
      expect([path, await statusOf(`${fake.adminUrl}${path}`, admin)]).toEqual([path, 421]);
    }
    expect(fake.requests()).toEqual([]);
  });

  test.each(['127.0.0.1', 'localhost:9999', '[::1]:80'])('B1: %s is answered', async (host) => {
    const fake = await start();
    const headers = { host, 'x-auth-token': fake.tokens.user };
    expect(await statusOf(`${fake.url}/user`, headers)).toBe(200);
  });
});

describe('B1: simulated machines', () => {
  test('B1: a key that a device lists opens a machine of a fleet only if it is the daemon’s', async () => {
    const world = await openSimWorld({ machines: 1, light: true, dataDir: dir, log: silentLog });
    try {
      const { fakequinix } = world;
      const call = clientOf(fakequinix, fakequinix.tokens.project);
      const own = await loadSshKey(join(dir, 'ssh-key'));
      const strangers = parseSshKey(rawKey(), 'stranger');
      const keys = `/projects/${fakequinix.projectId}/ssh-keys`;
      for (const [label, { publicLine }] of [['ours', own] as const, ['his', strangers] as const]) {
        const { status } = await call('POST', keys, { label, key: publicLine });
        expect(status).toBe(201);
      }
      await call('POST', `/projects/${fakequinix.projectId}/devices`, {
        hostname: 'a',
        plan: 'm3.large.x86',
        operating_system: 'ubuntu_22_04',
        hardware_reservation_id: 'next-available',
      });
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

describe('B1: what lies on the disk', () => {
  test('B1: machines are private, whatever the umask and whatever was there', () => {
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

  test('B1: a directory that others may write to, or that is another’s, is not used', async () => {
    const open = () => openSimWorld({ machines: 1, dataDir: dir, log: silentLog });
    chmodSync(dir, 0o777);
    await expect(open()).rejects.toThrow(/others may change .*chmod/);
    chmodSync(dir, 0o700);
    vi.spyOn(process, 'getuid').mockReturnValue(statSync(dir).uid + 1);
    await expect(open()).rejects.toThrow(/belongs to another user/);
  });

  test('B1: a state file that others may read, or that is another’s, is not continued', async () => {
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
