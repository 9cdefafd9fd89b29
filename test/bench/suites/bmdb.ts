import { measureAgentStarts, measureClaims, measureCycles } from '../bmdb/claims.ts';
import { measureHeartbeats, measureUpsertFloor } from '../bmdb/heartbeats.ts';
import { measureMirror } from '../bmdb/mirror.ts';
import { createWorld, measureCommits, readFacts, type BenchWorld } from '../bmdb/world.ts';
import { quantile } from '../measure.ts';
import { inRounds, scaled as share, withOpen, type Suite, type SuiteOptions } from '../suite.ts';

const FREE_MACHINES = 20_000;
const STARTED_MACHINES = 10_000;

export const suite: Suite = {
  summary: 'claims, cycles, heartbeats and the mirror on PostgreSQL',
  run(options) {
    const free = scaled(FREE_MACHINES, options);
    const started = scaled(STARTED_MACHINES, options);
    options.progress(`an embedded PostgreSQL with ${free + started} machines and some that wait`);
    const opening = createWorld({ free, started, others: scaled(1_000, options) });
    return withOpen(opening, async (world) => ({
      ...(await inRounds(options, () => measureAll(world, options))),
      machine: await readFacts(world.sql),
    }));
  },
};

/** At least one batch of heartbeats for each of two connections. */
const scaled = (count: number, options: SuiteOptions): number => share(count, options, 1_000);

/** Rates per second. */
async function measureAll(world: BenchWorld, { spanMs }: SuiteOptions) {
  const { bmdb, sql, ownerUrl: url } = world;
  const { free, started } = world.fleet;
  const timing = { spanMs, warmMs: spanMs / 4 };
  const by = (callers: number) => ({ bmdb, machines: free, callers, ...timing });
  const claims = [
    await measureClaims(by(1)),
    await measureClaims(by(10)),
    await measureClaims(by(50)),
  ];
  const cycles = [
    await measureCycles(by(1)),
    await measureCycles(by(10)),
    await measureCycles(by(50)),
  ];
  const agentStarts = await measureAgentStarts({ ...by(50), sql });
  const heartbeats = (count: number) =>
    measureHeartbeats({ bmdb, machines: started.slice(0, count), ...timing });
  const [few, many] = [await heartbeats(1_000), await heartbeats(10_000)];
  const upsertFloor = await measureUpsertFloor({ url, sql, machines: started, ...timing });
  const [warmMs, watchedMs] = [2 * spanMs, 4 * spanMs];
  const mirrorMs = await measureMirror({ bmdb, url, machines: started, warmMs, spanMs: watchedMs });
  return {
    claims: byCallers(claims),
    cycles: byCallers(cycles),
    agentStartCycles: agentStarts.perSecond,
    heartbeats: { 1000: few, 10000: many },
    /** Latency of a claim, with 50 callers. */
    claimLatencyMs: quantiles(claims[2]!.latenciesMs),
    /** From the commit of a change to its view. */
    mirrorLatencyMs: quantiles(mirrorMs),
    peers: { upsertFloor },
    ratios: {
      cycles50To10: cycles[2]!.perSecond / cycles[1]!.perSecond,
      heartbeatsToFloor: many / upsertFloor,
    },
    /** Commits of one small row each, on one connection: the disk's limit. */
    commits: await measureCommits(sql),
  };
}

const byCallers = (measured: readonly { readonly perSecond: number }[]) => {
  const [one, ten, fifty] = measured.map(({ perSecond }) => perSecond);
  return { 1: one!, 10: ten!, 50: fifty! };
};
const quantiles = (valuesMs: readonly number[]) => ({
  p50: quantile(valuesMs, 0.5),
  p99: quantile(valuesMs, 0.99),
});
