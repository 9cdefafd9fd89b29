import { measureBringUp } from '../fleet/bring-up.ts';
import { startServer, type BenchServer } from '../fleet/database.ts';
import { openHeartbeats } from '../fleet/heartbeats.ts';
import { measureMirroring } from '../fleet/mirror.ts';
import { inRounds, roundedOf, scaled, withOpen, type Suite, type SuiteOptions } from '../suite.ts';

/** Concurrent agent starts, with the number of machines for a measurement of some seconds. */
const BRING_UP = { 1: 1_500, 10: 2_000, 50: 4_000 } as const;
const FLEETS = [10_000, 100_000] as const;
/** Duration of a mirrored fleet's heartbeats, in spans of the options. */
const WATCHED_SPANS = 15;
const CALLERS = 200;

export const suite: Suite = {
  summary: 'machines brought up, 100 000 in one process, and heartbeats over TLS',
  run: (options) =>
    withOpen(startServer(), async (server) => ({
      ...(await inRounds(options, () => bringUps(server, options))),
      heartbeats: await heartbeats(server, options),
      fleet: await fleets(server, options),
    })),
};

/** All measurements by parallelism. */
async function bringUps(server: BenchServer, options: SuiteOptions) {
  const [bringUp, statementsPerMachine, cpuMsPerMachine]: Record<string, number>[] = [{}, {}, {}];
  for (const [parallelism, count] of Object.entries(BRING_UP)) {
    const machines = scaled(count, options);
    const found = await measureBringUp({ server, machines, parallelism: Number(parallelism) });
    bringUp![parallelism] = found.machinesPerSecond;
    statementsPerMachine![parallelism] = found.statementsPerMachine;
    cpuMsPerMachine![parallelism] = found.cpuMsPerMachine;
  }
  return { bringUp, statementsPerMachine, cpuMsPerMachine };
}

const heartbeats = (server: BenchServer, options: SuiteOptions) =>
  withOpen(openHeartbeats(server, scaled(CALLERS, options)), async ({ opening, measure }) => ({
    ...roundedOf(opening),
    ...(await inRounds(options, () => measure(3 * options.spanMs))),
  }));

/** Once each, because it takes over a minute: does the cost per machine grow? */
async function fleets(server: BenchServer, options: SuiteOptions) {
  const empty = await measureMirroring(server, 0, 0);
  const found: Record<string, object> = {};
  for (const size of FLEETS) {
    const machines = scaled(size, options);
    const spanMs = WATCHED_SPANS * options.spanMs;
    const { heapKb, ...measured } = await measureMirroring(server, machines, spanMs);
    const heapKbPerMachine = (heapKb - empty.heapKb) / machines;
    found[size] = roundedOf({ ...measured, heapKbPerMachine });
    options.progress(`${machines} machines: ${JSON.stringify(found[size])}`);
  }
  return found;
}
