import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { startHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { balancerOf, counted, reloadsOf } from '../../adapters/balancer/haproxy/stand.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, serve } from '../../support/balancing-stand.ts';
import { freePorts, startServing } from '../../support/serving-machines.ts';
import { idOf } from './machines.ts';

const PORTS = 3;
const PATIENCE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 50;

/**
 * Cost of deploying a pool of three ports to the real HAProxy, until all machines serve. `checks`
 * counts runs of `haproxy -c`.
 */
export async function measureHaproxy(count: number) {
  const haproxy = await startHaproxy();
  const [externals, internals] = [await freePorts(PORTS), await freePorts(PORTS)];
  const machines = await startServing(count, internals);
  const { program, checks } = await counted(haproxy);
  const balancer = balancerOf(haproxy, { program });
  const owner = pool({
    addresses: ['127.0.0.1'],
    ports: externals.map((external, at) => ({
      ...{ name: `p${at}`, external, internal: internals[at]! },
      check: { by: 'tcp' } as const,
    })),
  });
  const stand = createBalancingStand({
    clock: systemClock,
    pools: [owner],
    balancers: { edge: balancer },
  });
  stand.wish(...machines.map(({ address }, at) => serve(idOf(at), address)));
  const life = await stand.life();
  try {
    const beganMs = performance.now();
    const signal = new AbortController().signal;
    const isServed = async () => {
      const there = await balancer.observe(owner, { signal });
      return there.filter(({ server }) => server?.mode === 'active').length === PORTS * count;
    };
    while (!(await isServed())) {
      if (performance.now() - beganMs > PATIENCE_MS) throw new Error('machines do not serve');
      await sleep(LOOK_EVERY_MS);
    }
    const seconds = (performance.now() - beganMs) / 1_000;
    const reloads = await reloadsOf(haproxy);
    return { reloads, checks: await checks(), seconds };
  } finally {
    await life.stop();
    await balancer.close();
    await Promise.all(machines.map((machine) => machine.stop()));
    await haproxy.stop();
  }
}
