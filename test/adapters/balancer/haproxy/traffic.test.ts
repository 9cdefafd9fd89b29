import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type { Ref, ServerMode } from '../../../../src/domain/balancing/objects.ts';
import type { Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { ask } from '../../../../emulators/haproxy/haproxy-process.ts';
import { callOnce } from '../../../../emulators/haproxy/traffic/call.ts';
import { startTraffic } from '../../../../emulators/haproxy/traffic/traffic.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../../support/haproxy.ts';
import { PATIENCE } from '../../../support/patience.ts';
import {
  backend,
  balancerOf,
  bind,
  find,
  freePort,
  frontend,
  live,
  makePort,
  OWNER,
  reloadsOf,
  server,
  startMachine,
  type Machine,
} from './stand.ts';

/** What the driver says of HAProxy is compared with what clients find. */
describe.runIf(hasHaproxyFor('traffic through HAProxy'))('traffic through HAProxy', () => {
  async function stand(count: number) {
    const haproxy = await startTestHaproxy();
    const balancer = balancerOf(haproxy);
    onTestFinished(() => balancer.close());
    const machines: Machine[] = [];
    for (let at = 1; at <= count; at += 1) {
      const machine = await startMachine(`m${at}`);
      onTestFinished(() => machine.stop());
      machines.push(machine);
    }
    const number = await freePort();
    const to = { host: '127.0.0.1', port: number };
    return { haproxy, balancer, machines, number, to };
  }

  const observe = (balancer: LoadBalancer) => balancer.observe(OWNER, live());
  const readingOf = async (balancer: LoadBalancer, ref: Ref) =>
    find(await observe(balancer), ref)?.server;
  async function activate(balancer: LoadBalancer, servers: readonly Ref[]) {
    for (const ref of servers) {
      await vi.waitFor(
        async () => expect((await readingOf(balancer, ref))?.health).toBe('up'),
        PATIENCE,
      );
      await balancer.setMember!(ref, 'active', OWNER, live());
    }
  }
  const modesOf = async (balancer: LoadBalancer): Promise<(ServerMode | undefined)[]> =>
    (await observe(balancer))
      .filter(({ ref }) => ref.kind === 'server')
      .map(({ server: reading }) => reading?.mode);
  const reload = async (haproxy: Haproxy) => {
    const before = await ask(haproxy.masterSocket, 'show proc');
    await ask(haproxy.masterSocket, 'reload');
    const workerOf = (text: string) => /^# workers\n(\d+)/m.exec(text)?.[1];
    await vi.waitFor(async () => {
      const worker = workerOf(await ask(haproxy.masterSocket, 'show proc'));
      expect(worker).toBeDefined();
      expect(worker).not.toBe(workerOf(before));
    }, PATIENCE);
  };

  test('none is let to a server before it is made active', async () => {
    const { balancer, machines, number, to } = await stand(1);
    const { servers } = await makePort(balancer, 'http', { number, machines });
    expect(await modesOf(balancer)).toEqual(['drain']);
    expect(await callOnce(to)).not.toBeNull();
    expect(machines[0]!.answered()).toBe(0);
    await activate(balancer, servers);
    expect(await callOnce(to)).toBeNull();
  });

  test('vector 15: a port is added and removed, and no client of the other is refused', async () => {
    const { balancer, haproxy, machines, number, to } = await stand(2);
    const { servers } = await makePort(balancer, 'http', { number, machines });
    await activate(balancer, servers);
    const others = (await observe(balancer)).map(({ ref }) => ref);
    const held = { held: 5, holdMs: [60_000, 60_000] } as const;
    const traffic = startTraffic({ to, perSecond: 200, ...held, chance: () => 0.5 });
    const options = live();
    const second = await makePort(balancer, 'https', { number: await freePort(), machines });
    const binds = (await observe(balancer)).filter(({ ref }) => ref.kind === 'bind');
    for (const { ref } of binds.filter(({ parentId }) => parentId === second.frontend.id)) {
      await balancer.destroy(ref, OWNER, options);
    }
    await balancer.destroy(second.frontend, OWNER, options);
    for (const ref of second.servers) await balancer.destroy(ref, OWNER, options);
    await balancer.destroy(second.backend, OWNER, options);
    expect((await observe(balancer)).map(({ ref }) => ref)).toEqual(others);
    expect(await reloadsOf(haproxy)).toBe(9);
    const figures = await traffic.stop();
    expect(figures).toMatchObject({ refused: 0, cut: 0 });
    expect(figures.answered).toBeGreaterThan(50);
  });

  test('a drained server keeps what it has, through reloads, and gets nothing new', async () => {
    const { balancer, haproxy, machines, number, to } = await stand(2);
    const { servers } = await makePort(balancer, 'http', { number, machines });
    await activate(balancer, servers);
    const held = { perSecond: 0, held: 4, holdMs: [600_000, 600_000] } as const;
    const traffic = startTraffic({ to, ...held, chance: () => 0.5 });
    const sessionsOf = async (ref: Ref) => (await readingOf(balancer, ref))?.sessions;
    await vi.waitFor(async () => expect(await sessionsOf(servers[0]!)).toBe(2), PATIENCE);
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    await reload(haproxy);
    expect(await readingOf(balancer, servers[0]!)).toMatchObject({ mode: 'drain', sessions: 2 });
    expect(await readingOf(balancer, servers[1]!)).toMatchObject({ mode: 'active', sessions: 2 });
    const before = machines.map(({ answered }) => answered());
    const more = startTraffic({ to, perSecond: 200, held: 0, holdMs: [1, 1], chance: () => 0.5 });
    await vi.waitFor(() => expect(more.figures().answered).toBeGreaterThan(100), PATIENCE);
    const asked = await more.stop();
    expect(asked.refused).toBe(0);
    expect(await sessionsOf(servers[0]!)).toBe(2);
    // Those that are held ask five times a second each; all that is new went to the other machine.
    expect(machines[1]!.answered() - before[1]!).toBeGreaterThanOrEqual(asked.answered);
    // An old worker does not take the usual command for it.
    await balancer.setMember!(servers[0]!, 'off', OWNER, live());
    expect(await readingOf(balancer, servers[0]!)).toMatchObject({ mode: 'off', sessions: 0 });
    await vi.waitFor(() => expect(traffic.figures().cut).toBe(2), PATIENCE);
    await traffic.stop();
  });

  test('both files of a pool that is served are lost: they are written anew, and no client notices', async () => {
    const { balancer, haproxy, machines, number, to } = await stand(3);
    const first = await makePort(balancer, 'http', { number, machines });
    const second = await makePort(balancer, 'https', { number: await freePort(), machines });
    await activate(balancer, [...first.servers.slice(0, 2), ...second.servers]);
    await balancer.setMember!(second.servers[1]!, 'off', OWNER, live());
    const file = join(haproxy.poolsDir, 'api.eu.cfg');
    const before = await readFile(file, 'utf8');
    const held = { held: 5, holdMs: [60_000, 60_000] } as const;
    const traffic = startTraffic({ to, perSecond: 200, ...held, chance: () => 0.5 });
    await vi.waitFor(() => expect(traffic.figures().answered).toBeGreaterThan(50), PATIENCE);
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    const lost = async () =>
      (await observe(balancer)).flatMap(({ ref, differs }) => (differs === undefined ? [] : [ref]));
    expect(await lost()).toEqual([first.backend, second.backend]);
    // Whatever is changed first, all of it is written.
    await balancer.update!(first.backend, backend('http'), null, OWNER, live());
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await lost()).toEqual([]);
    const soFar = traffic.figures().answered;
    await vi.waitFor(
      () => expect(traffic.figures().answered).toBeGreaterThan(soFar + 50),
      PATIENCE,
    );
    expect(await traffic.stop()).toMatchObject({ refused: 0, cut: 0 });
    expect(await modesOf(balancer)).toEqual([
      'active',
      'active',
      'drain',
      'active',
      'off',
      'active',
    ]);
    expect(machines[2]!.answered()).toBe(0);
  });

  test('vector 24: after a restart everybody is what he was, from the first moment', async () => {
    const { balancer, haproxy, machines, number, to } = await stand(3);
    const { servers } = await makePort(balancer, 'http', { number, machines });
    await activate(balancer, servers.slice(0, 2));
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    const before = await readFile(join(haproxy.poolsDir, 'api.eu.cfg'), 'utf8');
    await haproxy.halt();
    const traffic = startTraffic({
      to,
      perSecond: 300,
      held: 0,
      holdMs: [1, 1],
      chance: () => 0.5,
    });
    await haproxy.start();
    await vi.waitFor(() => expect(traffic.figures().answered).toBeGreaterThan(100), PATIENCE);
    await traffic.stop();
    expect(await modesOf(balancer)).toEqual(['drain', 'active', 'drain']);
    expect(machines.map(({ answered }) => answered() > 0)).toEqual([false, true, false]);
    expect((await observe(balancer)).filter(({ differs }) => differs !== undefined)).toEqual([]);
    expect(await readFile(join(haproxy.poolsDir, 'api.eu.cfg'), 'utf8')).toBe(before);
  });

  test('vector 4: m2 is replaced by m3, and nobody is refused', async () => {
    const { balancer, machines, number, to } = await stand(3);
    const [m1, m2, m3] = machines;
    const made = await makePort(balancer, 'http', { number, machines: [m1!, m2!] });
    await activate(balancer, made.servers);
    const traffic = startTraffic({
      to,
      perSecond: 200,
      held: 0,
      holdMs: [1, 1],
      chance: () => 0.5,
    });
    const third = await balancer.create(server('http', m3!), made.backend, OWNER, live());
    await activate(balancer, [third]);
    await balancer.setMember!(made.servers[1]!, 'drain', OWNER, live());
    await vi.waitFor(
      async () => expect((await readingOf(balancer, made.servers[1]!))?.sessions).toBe(0),
      PATIENCE,
    );
    await balancer.destroy(made.servers[1]!, OWNER, live());
    await m2!.stop();
    const soFar = m3!.answered();
    await vi.waitFor(() => expect(m3!.answered()).toBeGreaterThan(soFar + 20), PATIENCE);
    expect(await traffic.stop()).toMatchObject({ refused: 0 });
    expect(await modesOf(balancer)).toEqual(['active', 'active']);
  });

  test('changes that wait for each other share a reload', async () => {
    const { balancer, haproxy } = await stand(0);
    const names = ['one', 'two', 'three', 'four'];
    await Promise.all(names.map((name) => balancer.create(backend(name), null, OWNER, live())));
    const parents = names.map((name): Ref => ({ kind: 'backend', id: `${name}.api.eu` }));
    await Promise.all(
      names.map((name, at) => balancer.create(frontend(name), parents[at]!, OWNER, live())),
    );
    const numbers = await Promise.all(names.map(() => freePort()));
    await Promise.all(
      names.map((name, at) =>
        balancer.create(
          bind(name, numbers[at]!),
          { kind: 'frontend', id: `${name}.api.eu` },
          OWNER,
          live(),
        ),
      ),
    );
    expect(await reloadsOf(haproxy)).toBeLessThanOrEqual(6);
    expect(await observe(balancer)).toHaveLength(12);
  });
});
