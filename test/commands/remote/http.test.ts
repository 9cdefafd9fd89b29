import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createSeededRandom } from '../../doubles/simulated-clock.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import type { Role } from '../../../src/domain/access.ts';
import {
  createClient,
  watchVersion,
  createHttpTransport,
  type Transport,
} from '../../../src/commands/remote/client.ts';
import { openConsole } from '../../console/api/console-stand.ts';
import { machine, scriptedFleet } from '../../console/scripted-fleet.ts';
import { machineStand } from '../machine-stand.ts';
import { runThrough } from '../run-through.ts';

const transportTo = (url: string, token: string | null) =>
  createHttpTransport({ url, token, version: '0.0.0', advice: 'see to its daemon' });
const run = (transport: Transport, ...args: string[]) =>
  runThrough({ transport, monotonic: systemClock.monotonic, sleep: async () => undefined }, args);

async function console(role: Role) {
  const { bmdb } = machineStand();
  const random = createSeededRandom(7);
  const { id, token } = makeToken(random);
  const forMs = 3_600_000;
  await bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role, providers: null, forMs },
  });
  const fleet = scriptedFleet();
  fleet.put(machine('a'));
  const web = await openConsole({
    ...{
      fleet,
      token: 'only-sees',
      accounts: { repository: bmdb.access, random, events: bmdb.events },
    },
    submission: {
      ...{ requests: bmdb.requests, clock: systemClock, loss: {} as never, providers: [] },
      ...{
        guard: () => [],
        pools: () => [],
        nowMs: fleet.nowMs,
        givingBack: () => '',
        givesBack: () => false,
      },
      means: async () => null,
    },
  });
  return { url: web.url, token };
}
const FREEZE = ['fleet', 'freeze', '--reason', 'a storm', '--wait', '0s'];

describe('V47: the exit code says what is missing, and the words what to do', () => {
  test('4: nobody is signed in', async () => {
    const { url } = await console('admin');
    for (const token of [null, 'shp_wrong', 'nonsense']) {
      for (const command of [['fleet', 'status'], FREEZE]) {
        const { code, stderr, stdout } = await run(transportTo(url, token), ...command);
        expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
        expect(stderr).toMatch(/log in with "shepherd login URL"/);
      }
    }
  });

  test('4: it is not allowed', async () => {
    const { url, token } = await console('viewer');
    const transport = transportTo(url, token);
    expect(await run(transport, 'whoami')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('token:ann'),
    });
    const { code, stderr } = await run(transport, ...FREEZE);
    expect(code).toBe(4);
    expect(stderr).toMatch(/viewer.*operator.*; "shepherd whoami" shows your role/);
    const json = await run(transport, ...FREEZE, '-o', 'json');
    expect(JSON.parse(json.stderr.replace('shepherd: ', ''))).toMatchObject({
      ...{ code: 'not-allowed', status: 403, type: '/problems/not-allowed' },
    });
  });

  test('5: no console answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    const { code, stderr } = await run(transportTo(`http://127.0.0.1:${port}/`, null), 'machines');
    expect(code).toBe(5);
    expect(stderr).toMatch(
      /no console answers at http:\/\/127.* \(nothing listens there\); see to/,
    );
  });

  test('5: whoever answers hangs up', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const { code } = await run(transportTo(`http://127.0.0.1:${port}/`, null), 'machines');
    server.close();
    expect(code).toBe(5);
  });
});

test('a console of another version is told of once', async () => {
  const { url, token } = await console('admin');
  const said: string[] = [];
  const { see, isOurs } = watchVersion('9.9.9', (text) => said.push(text));
  const client = createClient(transportTo(url, token), new AbortController().signal, see);
  await client.get('/fleet');
  await client.get('/fleet');
  expect(said).toEqual(['the console has version 0.0.0, and this command has version 9.9.9']);
  expect(isOurs()).toBe(false);
});

test('a route that an older console lacks is named', async () => {
  const { url, token } = await console('admin');
  const { code, stderr } = await run(transportTo(url, token), 'api', 'GET', 'novelties');
  expect(code).toBe(1);
  expect(stderr).toMatch(/this console \(0\.0\.0\) does not know GET \/api\/v1\/novelties/);
});

test('ui prints a link that logs in to the page as whoever asks, once', async () => {
  const { url, token } = await console('operator');
  const { stdout, code } = await run(transportTo(url, token), 'ui', '--url', url);
  expect(code).toBe(0);
  const [, secret] = /^http:\/\/127\.0\.0\.1:\d+\/login#(\S+)\n$/.exec(stdout) ?? [];
  const logIn = () =>
    fetch(`${url}api/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: new URL(url).origin },
      body: JSON.stringify({ code: secret }),
    });
  const first = await logIn();
  expect(await first.json()).toMatchObject({ name: 'token:ann', role: 'operator' });
  expect((await logIn()).status).toBe(401);
  expect(await run(transportTo(url, 'only-sees'), 'ui', '--url', url)).toMatchObject({ code: 0 });
});

test('ui by the database tells what failed as JSON, where that is asked for', async () => {
  const { url, token } = await console('operator');
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const before = process.exitCode;
  try {
    await run(transportTo(url, token), 'ui', '--config', '/nowhere/shepherd.yaml', '-o', 'json');
    const [[line]] = stderr.mock.calls as [[string]];
    expect(JSON.parse(line)).toMatchObject({ code: 'usage' });
    expect(line).toContain('/nowhere/shepherd.yaml');
    expect(process.exitCode).toBe(2);
  } finally {
    process.exitCode = before;
  }
});

test('api sends one request as it is', async () => {
  const { url, token } = await console('admin');
  const transport = transportTo(url, token);
  const { stdout } = await run(transport, 'api', 'get', 'machines?limit=1');
  expect(JSON.parse(stdout)).toMatchObject({ total: expect.any(Number), machines: [{}] });
  const data = JSON.stringify({ verb: 'freeze', reason: 'x', provider: 'y' });
  const wrong = await run(
    transport,
    'api',
    'POST',
    '/api/v1/requests',
    '--data',
    data,
    '--header',
    'Idempotency-Key: k',
  );
  expect(wrong).toMatchObject({ code: 2 });
});
