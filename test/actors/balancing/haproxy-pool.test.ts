import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { callOnce } from '../../../src/simulator/traffic/call.ts';
import { startTraffic } from '../../../src/simulator/traffic/traffic.ts';
import { balancerOf } from '../../adapters/balancer/haproxy/stand.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';
import { hasHaproxyFor, useHaproxy } from '../../support/haproxy.ts';
import { PATIENCE } from '../../support/patience.ts';
import { freePorts, startServing } from '../../support/serving-machines.ts';

const idOf = (at: number) => machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
const QUIET = { held: 0, holdMs: [1, 1], chance: () => 0.5 } as const;

/** Running pools, the real program, and machines that serve, in real time: what clients find counts. */
describe.runIf(hasHaproxyFor('pools on HAProxy'))('pools on HAProxy', () => {
  const start = useHaproxy();
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  async function poolOf(count: number) {
    const haproxy = await start();
    const balancer = balancerOf(haproxy);
    ends.push(() => balancer.close());
    const [externals, internals] = [await freePorts(2), await freePorts(2)];
    const machines = await startServing(count, internals);
    for (const machine of machines) ends.push(() => machine.stop());
    const ports = ['http', 'https'].map((name, at) => ({
      ...{ name, external: externals[at]!, internal: internals[at]! },
      check: { by: 'tcp' } as const,
    }));
    const stand = createBalancingStand({
      clock: systemClock,
      pools: [pool({ ports, addresses: ['127.0.0.1'] })],
      balancers: { edge: balancer },
    });
    const ids = machines.map((_, at) => idOf(at));
    const serveAt = (at: number) => serve(ids[at]!, machines[at]!.address);
    const state = (at: number) => stand.states()[ids[at]!];
    const until = (check: () => void) => vi.waitFor(check, PATIENCE);
    const allActive = () => {
      expect(ids.map((_, at) => state(at))).toEqual(ids.map(() => 'active'));
    };
    stand.wish(...ids.map((_, at) => serveAt(at)));
    const life = await stand.life();
    ends.push(() => life.stop());
    await until(allActive);
    const to = { host: '127.0.0.1', port: externals[0]! };
    // A row says that a machine may be served before it is.
    await vi.waitFor(async () => {
      await callOnce(to);
      expect(machines.map((each) => each.answered() > 0)).toEqual(machines.map(() => true));
    }, PATIENCE);
    return { haproxy, balancer, machines, ids, stand, life, serveAt, state, until, to };
  }

  test('vector 1: from nothing to all objects, and every machine serves', async () => {
    const { stand, balancer } = await poolOf(4);
    const there = await balancer.observe(pool(), { signal: new AbortController().signal });
    expect(there).toHaveLength(2 + 2 + 2 + 8);
    expect(stand.standing()?.frozen ?? null).toBeNull();
  });

  test('vector 19: a reboot waits for an open connection, and nobody is refused', async () => {
    const { machines, ids, stand, serveAt, state, until, to } = await poolOf(2);
    const held = startTraffic({
      to,
      perSecond: 0,
      held: 2,
      holdMs: [600_000, 600_000],
      chance: () => 0,
    });
    await until(() => expect(machines.map((each) => each.open())).toEqual([1, 1]));
    const clients = startTraffic({ to, perSecond: 100, ...QUIET });
    stand.wish(drain(ids[0]!));
    await until(() => expect(stand.row(ids[0]!)?.state).toBe('draining'));
    await until(() => expect(clients.figures().answered).toBeGreaterThan(100));
    expect(stand.row(ids[0]!)?.state).toBe('draining');
    expect(held.figures().cut).toBe(0);
    await held.stop();
    await until(() => expect(state(0)).toBe('drained no-sessions'));
    const before = machines[0]!.answered();
    const answered = clients.figures().answered;
    await until(() => expect(clients.figures().answered).toBeGreaterThan(answered + 50));
    expect(machines[0]!.answered()).toBe(before);
    stand.wish(drop(ids[0]!));
    stand.wish(serveAt(0));
    await until(() => expect(state(0)).toBe('active'));
    await until(() => expect(machines[0]!.answered()).toBeGreaterThan(before));
    expect(await clients.stop()).toMatchObject({ refused: 0 });
  });

  test('vector 24: a restart leaves members what they are, though nobody knows how they are', async () => {
    const { haproxy, ids, stand, life, state, until, to } = await poolOf(3);
    stand.wish(drain(ids[2]!, { reason: 'parked', askedAtMs: null, leaves: true }));
    await until(() => expect(state(2)).toMatch(/^drained/));
    await haproxy.restart();
    const clients = startTraffic({ to, perSecond: 100, ...QUIET });
    await until(() => expect(clients.figures().answered).toBeGreaterThan(100));
    expect([state(0), state(1)]).toEqual(['active', 'active']);
    expect(state(2)).toMatch(/^drained/);
    expect(stand.standing()?.frozen ?? null).toBeNull();
    await until(() => expect(life.state()).toBe('settled'));
    expect([state(0), state(1)]).toEqual(['active', 'active']);
    expect(await clients.stop()).toMatchObject({ refused: 0 });
  });

  test('vector 23: what an operator broke is told, and the old worker serves on', async () => {
    const { haproxy, ids, machines, stand, life, until, to } = await poolOf(2);
    const whole = await readFile(haproxy.baseFile, 'utf8');
    await writeFile(haproxy.baseFile, `${whole}\nnonsense\n`);
    const clients = startTraffic({ to, perSecond: 50, ...QUIET });
    const third = idOf(9);
    stand.wish(serve(third, machines[1]!.address.replace(/\d+$/, '254')));
    await until(() => expect(stand.standing()?.reason ?? '').toContain('HAProxy refuses it'));
    expect(life.state()).toBe('failed');
    await until(() => expect(clients.figures().answered).toBeGreaterThan(50));
    expect(stand.states()[ids[0]!]).toBe('active');
    await writeFile(haproxy.baseFile, whole);
    await until(() => expect(life.state()).toBe('settled'));
    expect(await readFile(join(haproxy.poolsDir, 'api.eu.cfg'), 'utf8')).toContain(third);
    expect(await clients.stop()).toMatchObject({ refused: 0 });
  });
});
