import { metricsTo } from '../../../src/adapters/metrics/port.ts';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { startAnexiaEmulator } from '../../../emulators/anexia/emulator.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { passWhen } from '../../actors/balancing/vector-world.ts';
import { createBalancingStand, drop } from '../../support/balancing-stand.ts';
import { engineDriver } from '../../support/engine-driver.ts';
import { PORTS, poolOfThree, served } from './machines.ts';

const MINUTE = 60_000;
const PAGE = 100;
/**
 * After this many event loop turns without a pending request, no further request comes by itself.
 */
const QUIET_TURNS = 4;

const pagesOf = (rows: number): number => Math.ceil(rows / PAGE) + 1;

/**
 * Calls of a pool with three ports to the Engine's emulator, over HTTP, in virtual time: when a
 * daemon takes over a settled pool (`first`), one machine leaves and comes back, and a settled pool
 * is read again (`resync`).
 */
export async function measureEngineCalls(machines: number, rows: 'short' | 'full') {
  const clock = createSimulatedClock();
  const fake = await startAnexiaEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: { now: clock.now, setTimeout, clearTimeout: (id) => clearTimeout(id as never) },
    stateDelayMs: 3_000,
    knobs: { rows, taggingMs: 0 },
  });
  let inFlight = 0;
  const metrics = metricsTo(({ name, value }) => {
    if (name === 'shepherd_lb_http_client_requests_in_flight') inFlight += value;
  });
  let looks = { all: 0, full: 0 };
  let polls = 0;

  /** One daemon's balancer. It remembers nothing of an earlier daemon. */
  function open(): LoadBalancer {
    const balancer = engineDriver(fake, { clock, metrics }, PAGE);
    return {
      ...balancer,
      observe(owner, look) {
        looks = { all: looks.all + 1, full: looks.full + (look.mayRecall === true ? 0 : 1) };
        return balancer.observe(owner, look);
      },
      refresh(ref, owner, call) {
        polls += 1;
        return balancer.refresh(ref, owner, call);
      },
    };
  }

  async function quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns = inFlight > 0 ? 0 : turns + 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const pass = (ms: number) => passWhen(clock, ms, quiet);

  let told = 0;
  /** Requests to the Engine since the last call. */
  function take() {
    const since = fake.requests(told);
    told = since.at(-1)?.seq ?? told;
    const reads = since.filter(({ method }) => method === 'GET');
    const single = reads.filter(({ route }) => route.endsWith('{id}'));
    const counts = {
      /** Number of full reads; `fullLooks` of them used nothing from memory. */
      looks: looks.all,
      fullLooks: looks.full,
      /** Pages of lists. */
      pages: reads.length - single.length,
      /** Number of reads of an object that is not ready yet. */
      polls,
      /** Requests for single objects, without the polls. */
      fetches: single.length - polls,
      /** Creations, tags, updates and deletions. */
      changes: since.length - reads.length,
    };
    looks = { all: 0, full: 0 };
    polls = 0;
    return counts;
  }

  const balancers = { edge: open() };
  const stand = createBalancingStand({ clock, pools: [poolOfThree], balancers });
  const wishes = served(machines);
  stand.wish(...wishes);
  const builder = await stand.life();
  await pass(5 * MINUTE);
  await builder.stop();
  await balancers.edge.close();
  const objects = fake.objects().length;
  balancers.edge = open();
  take();
  const life = await stand.life();
  await pass(10_000);
  const first = take();
  stand.wish(drop(wishes[0]!.machineId));
  await pass(MINUTE);
  const leave = take();
  stand.wish(wishes[0]!);
  await pass(MINUTE);
  const join = take();
  await pass(6 * MINUTE);
  const resync = take();
  await life.stop();
  await balancers.edge.close();
  await fake.close();
  const ofPorts = pagesOf(PORTS.length);
  const pagesPerLook =
    pagesOf(objects) + 2 * ofPorts + PORTS.length * (pagesOf(1) + pagesOf(machines));
  return { objects, pagesPerLook, first, leave, join, resync };
}
