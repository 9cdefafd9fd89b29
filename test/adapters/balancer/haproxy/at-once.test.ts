import { appendFile, readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type { Ref } from '../../../../src/domain/balancing/objects.ts';
import type { Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { startTraffic } from '../../../../emulators/haproxy/traffic/traffic.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../../support/haproxy.ts';
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
  OWNER,
  reloadsOf,
  server,
  startMachine,
} from './stand.ts';

const MANY = 60;

/** Calls that are made in one turn share what each would need for itself. */
describe.runIf(hasHaproxyFor('many calls at once'))('many calls at once at HAProxy', () => {
  async function stand() {
    const haproxy = await startTestHaproxy();
    const { program, checks } = await counted(haproxy);
    const { masterSocket, told } = await counting(haproxy);
    const balancer = balancerOf(haproxy, { program, masterSocket });
    onTestFinished(() => balancer.close());
    const number = await freePort();
    return { haproxy, balancer, checks, told, number, file: join(haproxy.poolsDir, 'api.eu.cfg') };
  }
  /** A socket that leads to the master's, and how often something was said there. */
  async function counting({ dir, masterSocket: real }: Haproxy) {
    let count = 0;
    const masterSocket = join(dir, 'counting.sock');
    const door = createServer({ allowHalfOpen: true }, (socket) => {
      count += 1;
      const beyond = connect(real);
      for (const each of [socket, beyond])
        each.on('error', () => (socket.destroy(), beyond.destroy()));
      socket.pipe(beyond).pipe(socket);
    });
    await new Promise<void>((resolve) => door.listen(masterSocket, resolve));
    onTestFinished(() => new Promise<void>((resolve) => door.close(() => resolve())));
    return { masterSocket, told: () => count };
  }
  const modesOf = async (balancer: LoadBalancer) => {
    const seen = await balancer.observe(OWNER, live());
    expect(seen.filter(({ differs }) => differs !== undefined)).toEqual([]);
    return seen.flatMap(({ ref, server: reading }) => (ref.kind === 'server' ? reading?.mode : []));
  };
  const all = (refs: readonly Ref[], call: (ref: Ref) => Promise<unknown>) =>
    Promise.all(refs.map(call));

  test('many servers are made, let in, drained and removed with one check each time', async () => {
    const { haproxy, balancer, checks, told, number, file } = await stand();
    const { backend: above } = await makePort(balancer, 'http', { number, machines: [] });
    const before = [await checks(), await reloadsOf(haproxy)];
    const since = async () => [
      (await checks()) - before[0]!,
      (await reloadsOf(haproxy)) - before[1]!,
    ];
    const machines = Array.from({ length: MANY }, (_, at) => ({ name: `m${at}`, port: 1 + at }));
    const toldBefore = told();
    const servers = await Promise.all(
      machines.map((machine) => balancer.create(server('http', machine), above, OWNER, live())),
    );
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
    // One by one, each server takes some ten commands.
    expect(told() - toldBefore).toBeLessThan(3 * MANY);
    expect((await readFile(file, 'utf8')).match(/^ {2}server /gm)).toHaveLength(20);
  });

  test('what has connections is cut though many go at once, and who stays keeps his', async () => {
    const { balancer, number } = await stand();
    const machines = await Promise.all(['m1', 'm2', 'm3', 'm4'].map(startMachine));
    for (const machine of machines) onTestFinished(() => machine.stop());
    const { servers } = await makePort(balancer, 'http', { number, machines });
    await all(servers, (ref) => balancer.setMember!(ref, 'active', OWNER, live()));
    const to = { host: '127.0.0.1', port: number };
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

  test('of many that cannot be made together only that is refused which cannot be made at all', async () => {
    const { balancer, haproxy } = await stand();
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => blocker.close(() => resolve())));
    const taken = (blocker.address() as { port: number }).port;
    const above = await balancer.create(backend('http'), null, OWNER, live());
    const front = await balancer.create(frontend('http'), above, OWNER, live());
    const before = await reloadsOf(haproxy);
    const numbers = [await freePort(), await freePort(), taken, await freePort(), await freePort()];
    const made = await Promise.allSettled(
      numbers.map((number, at) => balancer.create(bind(`b${at}`, number), front, OWNER, live())),
    );
    const fulfilled = 'fulfilled';
    expect(made.map(({ status }) => status)).toEqual([
      ...[fulfilled, fulfilled, 'rejected', fulfilled, fulfilled],
    ]);
    expect((await reloadsOf(haproxy)) - before).toBe(2);
    expect(await balancer.observe(OWNER, live())).toHaveLength(2 + 4);
  });

  test('where everything is refused for what is not ours, not each is tried', async () => {
    const { balancer, haproxy, checks, number } = await stand();
    const { backend: above } = await makePort(balancer, 'http', { number, machines: [] });
    const before = await checks();
    await appendFile(haproxy.baseFile, '\nnonsense\n');
    const machines = Array.from({ length: MANY }, (_, at) => ({ name: `m${at}`, port: 1 + at }));
    const made = await Promise.allSettled(
      machines.map((machine) => balancer.create(server('http', machine), above, OWNER, live())),
    );
    expect(made.filter(({ status }) => status === 'rejected')).toHaveLength(MANY);
    expect((await checks()) - before).toBe(2);
  });
});
