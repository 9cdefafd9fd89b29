import { appendFile, readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type { Ref } from '../../../../src/domain/balancing/objects.ts';
import { ask, type Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { startTraffic } from '../../../../emulators/haproxy/traffic/traffic.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { PATIENCE } from '../../../support/patience.ts';
import {
  backend,
  balancerOf,
  bind,
  counted,
  freePort,
  frontend,
  live,
  makePort,
  occupy,
  OTHER,
  OWNER,
  reloadsOf,
  server,
  serving,
  stand,
} from './stand.ts';

const MANY = 60;

/** Calls in one turn of the event loop share their common requests. */
describe.runIf(hasHaproxyFor('many calls at once'))('many calls at once at HAProxy', () => {
  async function counting() {
    const { haproxy, file } = await stand();
    const { program, checks } = await counted(haproxy);
    const { masterSocket, told } = await door(haproxy);
    const balancer = balancerOf(haproxy, { program, masterSocket });
    onTestFinished(() => balancer.close());
    const port = { number: await freePort(), machines: [] };
    const { backend: above } = await makePort(balancer, 'http', port);
    return { haproxy, balancer, checks, told, above, file };
  }
  /** A socket that forwards to the master's, with a count of its commands. */
  async function door({ dir, masterSocket: real }: Haproxy) {
    let count = 0;
    const masterSocket = join(dir, 'counting.sock');
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      count += 1;
      const beyond = connect(real);
      for (const each of [socket, beyond])
        each.on('error', () => (socket.destroy(), beyond.destroy()));
      socket.pipe(beyond).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(masterSocket, resolve));
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return { masterSocket, told: () => count };
  }
  const modesOf = async (balancer: LoadBalancer) => {
    const seen = await balancer.observe(OWNER, live());
    expect(seen.filter(({ differs }) => differs !== undefined)).toEqual([]);
    return seen.flatMap(({ ref, server: reading }) => (ref.kind === 'server' ? reading?.mode : []));
  };
  const makeMany = (balancer: LoadBalancer, above: Ref) =>
    Array.from({ length: MANY }, (_, at) => {
      const desired = server('http', { name: `m${at}`, port: 1 + at });
      return balancer.create(desired, above, OWNER, live());
    });
  const all = (refs: readonly Ref[], call: (ref: Ref) => Promise<unknown>) =>
    Promise.all(refs.map(call));

  test('create, enable, drain and remove many servers with one check each', async () => {
    const { haproxy, balancer, checks, told, above, file } = await counting();
    const before = [await checks(), await reloadsOf(haproxy)];
    const since = async () => [
      (await checks()) - before[0]!,
      (await reloadsOf(haproxy)) - before[1]!,
    ];
    const toldBefore = told();
    const servers = await Promise.all(makeMany(balancer, above));
    expect(await modesOf(balancer)).toEqual(Array(MANY).fill('drain'));
    expect(await since()).toEqual([1, 0]);
    await all(servers, (ref) => balancer.setMember!(ref, 'active', OWNER, live()));
    expect(await modesOf(balancer)).toEqual(Array(MANY).fill('active'));
    const [some, others] = [servers.slice(0, 20), servers.slice(20)];
    await all(some, (ref) => balancer.setMember!(ref, 'off', OWNER, live()));
    expect(await modesOf(balancer)).toEqual([
      ...Array(20).fill('off'),
      ...Array(MANY - 20).fill('active'),
    ]);
    await all(others, (ref) => balancer.destroy(ref, OWNER, live()));
    expect(await modesOf(balancer)).toEqual(Array(20).fill('off'));
    expect(await since()).toEqual([4, 0]);
    // Individually, each server takes about ten commands.
    expect(told() - toldBefore).toBeLessThan(3 * MANY);
    expect((await readFile(file, 'utf8')).match(/^ {2}server /gm)).toHaveLength(20);
  });

  test('cut the connections of removed servers only', async () => {
    const { balancer, servers, to } = await serving(['m1', 'm2', 'm3', 'm4']);
    const held = { perSecond: 0, held: 8, holdMs: [600_000, 600_000] } as const;
    const traffic = startTraffic({ to, ...held, chance: () => 0.5 });
    const sessions = async () =>
      (await balancer.observe(OWNER, live())).flatMap(
        ({ server: reading }) => reading?.sessions ?? [],
      );
    await vi.waitFor(async () => expect(await sessions()).toEqual([2, 2, 2, 2]), PATIENCE);
    await Promise.all([
      balancer.setMember!(servers[0]!, 'off', OWNER, live()),
      balancer.setMember!(servers[1]!, 'drain', OWNER, live()),
      balancer.destroy(servers[2]!, OWNER, live()),
    ]);
    expect(await modesOf(balancer)).toEqual(['off', 'drain', 'active']);
    const [off, drained, active] = await sessions();
    expect([off, drained]).toEqual([0, 2]);
    expect(active).toBeGreaterThanOrEqual(2);
    await vi.waitFor(() => expect(traffic.figures().cut).toBe(4), PATIENCE);
    expect(await traffic.stop()).toMatchObject({ cut: 4, refused: 0 });
  });

  test('refuse only the servers that cannot be created at all', async () => {
    const { balancer, haproxy } = await stand();
    const taken = await occupy();
    const above = await balancer.create(backend('http'), null, OWNER, live());
    const front = await balancer.create(frontend('http'), above, OWNER, live());
    const before = await reloadsOf(haproxy);
    const numbers = [await freePort(), await freePort(), taken, await freePort(), await freePort()];
    const made = await Promise.allSettled([
      ...numbers.map((number, at) => balancer.create(bind(`b${at}`, number), front, OWNER, live())),
      balancer.create(backend('web', OTHER), null, OTHER, live()),
    ]);
    const refusals = made.map((each) => (each.status === 'rejected' ? String(each.reason) : null));
    const refusal = expect.stringContaining(`HAProxy cannot listen at 127.0.0.1 port ${taken}`);
    expect(refusals).toEqual([null, null, refusal, null, null, null]);
    // The driver loads no configuration with unavailable resources.
    expect(await ask(haproxy.masterSocket, 'show proc')).toMatch(/master.*\[failed: 0\]/);
    expect((await reloadsOf(haproxy)) - before).toBe(2);
    expect(await balancer.observe(OWNER, live())).toHaveLength(2 + 4);
    expect(await balancer.observe(OTHER, live())).toHaveLength(1);
  });

  test('do not try each change when foreign configuration makes all fail', async () => {
    const { balancer, haproxy, checks, above } = await counting();
    const before = await checks();
    await appendFile(haproxy.baseFile, '\nnonsense\n');
    const made = await Promise.allSettled(makeMany(balancer, above));
    expect(made.filter(({ status }) => status === 'rejected')).toHaveLength(MANY);
    expect((await checks()) - before).toBe(2);
  });
});
