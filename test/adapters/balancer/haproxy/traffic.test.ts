import { readFile, rm } from 'node:fs/promises';
import { describe, expect, test, vi } from 'vitest';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type { Ref, ServerMode } from '../../../../src/domain/balancing/objects.ts';
import { type Haproxy, ask } from '../../../../emulators/haproxy/haproxy-process.ts';
import { startTraffic } from '../../../../emulators/haproxy/traffic/traffic.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { backend, find, freePort, live, makePort, OWNER, serving } from './stand.ts';

/** Compares the driver's report of HAProxy with the experience of clients. */
describe.runIf(hasHaproxyFor('traffic through HAProxy'))('traffic through HAProxy', () => {
  const observe = (balancer: LoadBalancer) => balancer.observe(OWNER, live());
  const readingOf = async (balancer: LoadBalancer, ref: Ref) =>
    find(await observe(balancer), ref)?.server;
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

  test('stays on a drained server through reloads, which gets nothing new', async () => {
    const { balancer, haproxy, machines, servers, to } = await serving(['m1', 'm2']);
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
    // Held clients retry five times a second each. All new requests went to the other machine.
    expect(machines[1]!.answered() - before[1]!).toBeGreaterThanOrEqual(asked.answered);
    // An old worker does not accept the usual command for this.
    await balancer.setMember!(servers[0]!, 'off', OWNER, live());
    expect(await readingOf(balancer, servers[0]!)).toMatchObject({ mode: 'off', sessions: 0 });
    await vi.waitFor(() => expect(traffic.figures().cut).toBe(2), PATIENCE);
    await traffic.stop();
  });

  test('continues unnoticed while both lost files of a pool are written again', async () => {
    const {
      balancer,
      file,
      machines,
      backend: above,
      servers,
      to,
    } = await serving([...['m1', 'm2', 'm3']]);
    await balancer.setMember!(servers[1]!, 'off', OWNER, live());
    const second = await makePort(balancer, 'https', { number: await freePort(), machines });
    const before = await readFile(file, 'utf8');
    const held = { held: 5, holdMs: [60_000, 60_000] } as const;
    const traffic = startTraffic({ to, perSecond: 200, ...held, chance: () => 0.5 });
    await vi.waitFor(() => expect(traffic.figures().answered).toBeGreaterThan(50), PATIENCE);
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    const lost = async () =>
      (await observe(balancer)).flatMap(({ ref, differs }) => (differs === undefined ? [] : [ref]));
    expect(await lost()).toEqual([above, second.backend]);
    // Whatever changes first, the driver writes the whole configuration.
    await balancer.update!(above, backend('http'), null, OWNER, live());
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await lost()).toEqual([]);
    const soFar = traffic.figures().answered;
    await vi.waitFor(
      () => expect(traffic.figures().answered).toBeGreaterThan(soFar + 50),
      PATIENCE,
    );
    expect(await traffic.stop()).toMatchObject({ refused: 0, cut: 0 });
    expect(await modesOf(balancer)).toEqual([
      ...['active', 'off', 'active'],
      ...['drain', 'drain', 'drain'],
    ]);
    expect(machines[1]!.answered()).toBe(0);
  });
});
