import { machineId } from '../../../src/domain/ids.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drop, serve } from '../../support/balancing-stand.ts';

const MINUTE = 60_000;
const PORTS = [80, 443, 8_080];

const idOf = (at: number) => machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);

/** How often a balancer is looked at, and how many calls change something. A look is lists × pages. */
interface Counts {
  readonly looks: number;
  readonly changes: number;
}

/** Calls of a pool of three ports, at a balancer whose servers are drained by removing them. */
export async function measureCalls(
  machines: number,
): Promise<{ readonly setUp: Counts; readonly settled: Counts; readonly leave: Counts }> {
  const clock = createSimulatedClock();
  const memory = createMemoryBalancer({
    clock,
    readyAfterMs: 5_000,
    capabilities: { drain: 'remove', sessions: false, health: false },
  });
  const ports = PORTS.map((external) => ({
    name: `p${external}`,
    external,
    internal: external + 10_000,
    check: { by: 'tcp' } as const,
  }));
  const stand = createBalancingStand({
    clock,
    pools: [pool({ ports, addresses: ['192.0.2.10'] })],
    balancers: { edge: memory.balancer },
  });
  let from = 0;
  const take = (): Counts => {
    const calls = memory.calls.slice(from);
    from = memory.calls.length;
    const looks = calls.filter(({ operation }) => operation === 'observe').length;
    const refreshes = calls.filter(({ operation }) => operation === 'refresh').length;
    return { looks, changes: calls.length - looks - refreshes };
  };
  const ids = Array.from({ length: machines }, (_, at) => idOf(at));
  stand.wish(...ids.map((id, at) => serve(id, `10.0.${at >> 8}.${at & 255}`)));
  const life = await stand.life();
  await advance(clock, 5 * MINUTE);
  const setUp = take();
  await advance(clock, 6 * MINUTE);
  const settled = take();
  stand.wish(drop(ids[0]!));
  await advance(clock, 2 * MINUTE);
  const leave = take();
  await life.stop();
  return { setUp, settled, leave };
}
