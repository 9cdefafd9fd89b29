import { measureAgentStarts, measureClaims, measureCycles } from '../bmdb/claims.ts';
import { measureCommits, readFacts } from '../bmdb/facts.ts';
import { figuresOf, tableOf } from '../bmdb/figures.ts';
import type { Samples } from '../bmdb/figures.ts';
import { createGraphileWorker } from '../bmdb/graphile-worker.ts';
import { measureHeartbeats, measureUpsertFloor } from '../bmdb/heartbeats.ts';
import { measureMirror } from '../bmdb/mirror.ts';
import { measurePeer } from '../bmdb/peer.ts';
import { createPgBoss } from '../bmdb/pg-boss.ts';
import { POOL_MAX, createWorld } from '../bmdb/world.ts';
import type { World } from '../bmdb/world.ts';
import { quantile } from '../measure.ts';
import { scaled as share, type Report, type Suite, type SuiteOptions } from '../suite.ts';

const FREE_MACHINES = 20_000;
const STARTED_MACHINES = 10_000;
const JOBS_BATCHED = 20_000;
const JOBS_SINGLE = 2_000;

/** Figures of one name, appended to its samples each time. */
interface Step {
  readonly name: string;
  readonly run: () => Promise<Readonly<Record<string, number>>>;
}

export const suite: Suite = {
  summary: 'claims, cycles, heartbeats and the mirror on PostgreSQL, beside two job queues',
  run: async (options) => {
    const free = scaled(FREE_MACHINES, options);
    const started = scaled(STARTED_MACHINES, options);
    options.progress(`an embedded PostgreSQL with ${free + started} machines and some that wait`);
    const world = await createWorld({ free, started, others: scaled(1_000, options) });
    try {
      return await measureAll(world, options);
    } finally {
      await world.close();
    }
  },
};

async function measureAll(world: World, options: SuiteOptions): Promise<Report> {
  const samples: Samples = new Map();
  const steps = stepsOf(world, options);
  for (let round = 0; round < options.rounds; round++) {
    // Each round begins elsewhere, so that nothing always comes right after the same neighbour.
    const first = (round * 5) % steps.length;
    for (const step of [...steps.slice(first), ...steps.slice(0, first)]) {
      const figures = await step.run();
      const told = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
      options.progress(`round ${round + 1}/${options.rounds}: ${told.join(', ')}`);
      for (const [name, value] of Object.entries(figures)) {
        samples.set(name, [...(samples.get(name) ?? []), value]);
      }
    }
  }
  const figures = figuresOf(samples, await readFacts(world.sql));
  return { json: { ...figures }, table: tableOf(figures, samples) };
}

function stepsOf(world: World, options: SuiteOptions): Step[] {
  const { peers } = world;
  const graphile = (batched: boolean) =>
    createGraphileWorker(peers.sql, { batched, poolMax: POOL_MAX });
  const boss = createPgBoss(peers.sql, { url: peers.url, poolMax: POOL_MAX });
  const timing = { spanMs: options.spanMs, warmMs: options.spanMs / 4 };
  const jobs = scaled(JOBS_BATCHED, options);
  const few = scaled(JOBS_SINGLE, options);
  return [
    ...[1, 10, 50].flatMap((callers) => claimSteps(world, callers, timing)),
    step('agentStartCycles', async () => {
      const { bmdb, sql, fleet } = world;
      const measured = await measureAgentStarts({
        bmdb,
        sql,
        machines: fleet.free,
        callers: 50,
        ...timing,
      });
      return measured.perSecond;
    }),
    ...[1_000, 10_000].map((count) =>
      step(`heartbeats ${count}`, () =>
        measureHeartbeats({
          bmdb: world.bmdb,
          machines: world.fleet.started.slice(0, count),
          ...timing,
        }),
      ),
    ),
    step('commits', () => measureCommits(world.sql)),
    step('upsertFloor', () =>
      measureUpsertFloor({
        url: world.ownerUrl,
        sql: world.sql,
        machines: world.fleet.started,
        ...timing,
      }),
    ),
    step('graphileWorkerBatched', () => measurePeer(graphile(true), jobs)),
    step('graphileWorkerSingle', () => measurePeer(graphile(false), few)),
    step('pgBoss', () => measurePeer(boss, jobs)),
    {
      name: 'mirror',
      run: async () => {
        const latenciesMs = await measureMirror({
          bmdb: world.bmdb,
          url: world.ownerUrl,
          machines: world.fleet.started,
          warmMs: 2 * timing.spanMs,
          spanMs: 4 * timing.spanMs,
        });
        return {
          'mirrorLatencyMs p50': quantile(latenciesMs, 0.5),
          'mirrorLatencyMs p99': quantile(latenciesMs, 0.99),
        };
      },
    },
  ];
}

function claimSteps(
  { bmdb, fleet }: World,
  callers: number,
  timing: { readonly warmMs: number; readonly spanMs: number },
): Step[] {
  const options = { bmdb, machines: fleet.free, callers, ...timing };
  return [
    {
      name: `claims ${callers}`,
      run: async () => {
        const { perSecond, latenciesMs } = await measureClaims(options);
        return {
          [`claims ${callers}`]: perSecond,
          [`claimLatencyMs ${callers} p50`]: quantile(latenciesMs, 0.5),
          [`claimLatencyMs ${callers} p99`]: quantile(latenciesMs, 0.99),
        };
      },
    },
    step(`cycles ${callers}`, async () => (await measureCycles(options)).perSecond),
  ];
}

const step = (name: string, measure: () => Promise<number>): Step => ({
  name,
  run: async () => ({ [name]: await measure() }),
});

/** At least a batch of heartbeats for each of two connections. */
const scaled = (count: number, options: SuiteOptions): number => share(count, options, 1_000);
