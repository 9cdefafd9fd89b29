import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { createBalancingStand, drop } from '../../support/balancing-stand.ts';
import { poolOfThree, served } from './machines.ts';

const MINUTE = 60_000;

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
  const stand = createBalancingStand({
    clock,
    pools: [poolOfThree],
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
  const wishes = served(machines);
  stand.wish(...wishes);
  const life = await stand.life();
  await advance(clock, 5 * MINUTE);
  const setUp = take();
  await advance(clock, 6 * MINUTE);
  const settled = take();
  stand.wish(drop(wishes[0]!.machineId));
  await advance(clock, 2 * MINUTE);
  const leave = take();
  await life.stop();
  return { setUp, settled, leave };
}
