/**
 * Plays fleets in virtual time with plans drawn from seeds, and lists broken rules:
 *
 *     npm run simulate -- --month [--days N] [--machines M] [--daemons D] [--seed S] [--json]
 *     npm run simulate -- [--runs N] [--seed S | --seeds S,S,…] [--machines M] [--daemons D] [--hours H] [--jobs J]
 *         [--budget NAME] [--plan FILE] [--twice] [--calm] [--first] [--no-shrink] [--json]
 *
 * `--seed` plays one seed, or starts with it if `--runs` is given; otherwise seeds are fresh and
 * printed. `--budget` plays fixed seeds, and every situation of `sometimes.ts` with this budget
 * must occur. `--plan` plays a printed plan. `--twice` plays each plan twice: both traces must be
 * equal. `--month` plays the days of `month.ts` instead. `--calm` injects no faults. `--first` stops
 * at the first violation. Exits 1 if a rule was broken or a situation of the budget did not occur.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { table } from 'table';
import { BUDGETS } from '../test/simulation/budgets.ts';
import { runMonth } from '../test/simulation/month.ts';
import { drawPlan, type SimulationPlan } from '../test/simulation/plan.ts';
import { shrinkPlan } from '../test/simulation/shrink.ts';
import { runPlan, type SimulationOutcome, type Violation } from '../test/simulation/simulation.ts';
import { SITUATIONS, situationsIn } from '../test/simulation/sometimes.ts';
import { tellStory } from '../test/simulation/story.ts';

interface Job {
  readonly plan: SimulationPlan;
  readonly isTwice: boolean;
  readonly shrinks: boolean;
  readonly stopsAtFirst: boolean;
}
interface Judged extends Pick<
  SimulationOutcome,
  'plan' | 'violations' | 'trace' | 'struck' | 'hours'
> {
  readonly situations: readonly string[];
  readonly cpuMs: number;
  /** The smallest run that breaks the first rule; null: none. */
  readonly shrunk: Pick<SimulationOutcome, 'plan' | 'violations' | 'story'> | null;
}

const TWICE: Omit<Violation, 'detail' | 'atMs'> = {
  rule: 'same-trace',
  sentence: 'the same plan leaves the same trace',
};
const ENDS: Omit<Violation, 'detail' | 'atMs'> = {
  rule: 'run-ends',
  sentence: 'a run is played to its end',
};

/** An aborted run is a violation like any other, and does not affect other runs. */
const judge = (job: Job): Promise<Judged> =>
  play(job).catch((error: unknown): Judged => {
    const detail = error instanceof Error ? String(error.stack) : String(error);
    const violations = [{ ...ENDS, detail, atMs: 0 }];
    const nothing = { trace: '', struck: {}, hours: 0, situations: [], cpuMs: 0, shrunk: null };
    return { plan: job.plan, violations, ...nothing };
  });

async function play({ plan, isTwice, shrinks, stopsAtFirst }: Job): Promise<Judged> {
  const began = process.threadCpuUsage();
  const { story, tally, ...outcome } = await runPlan(plan, { stopsAtFirst });
  const used = process.threadCpuUsage(began);
  const violations = [...outcome.violations];
  if (isTwice) {
    const { trace } = await runPlan(plan, { stopsAtFirst });
    const detail = `${outcome.trace} and ${trace}`;
    if (trace !== outcome.trace) violations.push({ ...TWICE, detail, atMs: 0 });
  }
  const [first] = outcome.violations;
  const shrunk = first && shrinks ? await shrinkPlan(plan, first.rule) : null;
  return {
    ...outcome,
    violations,
    situations: situationsIn(tally),
    cpuMs: (used.user + used.system) / 1_000,
    shrunk: first ? (shrunk ?? { plan, violations, story }) : null,
  };
}

/** Plays the jobs in threads, one run per thread at a time. */
async function judgeAll(jobs: readonly Job[], threads: number, tell: (judged: Judged) => boolean) {
  const waiting = [...jobs];
  // A single thread plays all waiting jobs.
  while (threads === 1 && waiting.length > 0) {
    if (!tell(await judge(waiting.shift()!))) return;
  }
  const workers = Array.from({ length: Math.min(threads, jobs.length) }, () => {
    const worker = new Worker(new URL(import.meta.url));
    const ended = new Promise<void>((resolve, reject) => {
      const next = () => {
        const job = waiting.shift();
        if (job) worker.postMessage(job);
        else resolve();
      };
      worker.on('error', reject);
      worker.on('message', (judged: Judged) => {
        if (!tell(judged)) waiting.length = 0;
        next();
      });
      next();
    });
    return { worker, ended };
  });
  await Promise.all(workers.map(({ ended }) => ended));
  await Promise.all(workers.map(({ worker }) => worker.terminate()));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    allowNegative: true,
    options: {
      runs: { type: 'string' },
      seed: { type: 'string' },
      seeds: { type: 'string' },
      machines: { type: 'string' },
      daemons: { type: 'string' },
      hours: { type: 'string', default: '6' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      budget: { type: 'string' },
      plan: { type: 'string' },
      twice: { type: 'boolean', default: false },
      calm: { type: 'boolean', default: false },
      month: { type: 'boolean', default: false },
      days: { type: 'string', default: '30' },
      first: { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: true },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.month) {
    const { seed = '1', days, machines = '40', daemons = '2' } = values;
    const figures = await runMonth({
      ...{ seed: Number(seed), days: Number(days) },
      ...{ machines: Number(machines), daemons: Number(daemons) },
    });
    console.log(JSON.stringify(figures, null, values.json ? 0 : 2));
    process.exitCode = figures.violations.length > 0 ? 1 : 0;
    return;
  }
  const budget = values.budget === undefined ? null : BUDGETS[values.budget];
  if (budget === undefined) throw new Error(`simulate: there is no budget ${values.budget}`);
  const size = budget ?? {
    machines: Number(values.machines ?? 12),
    daemons: Number(values.daemons ?? 3),
    hours: Number(values.hours),
  };
  const firstSeed = Number(values.seed ?? Math.floor(Date.now() / 1_000) % 1_000_000);
  const runs = Number(values.runs ?? 1);
  const listed = values.seeds?.split(',').map(Number);
  const seeds = budget?.seeds ?? listed ?? Array.from({ length: runs }, (_, at) => firstSeed + at);
  const plans = values.plan
    ? [JSON.parse(readFileSync(values.plan, 'utf8')) as SimulationPlan]
    : seeds.map((seed) => drawPlan({ ...size, seed }));
  const say = values.json ? console.error : console.log;
  say(`${plans.length} runs, seeds ${plans[0]!.seed} to ${plans.at(-1)!.seed}`);
  const judged: Judged[] = [];
  await judgeAll(
    plans.map((plan) => ({
      plan: values.calm ? { ...plan, strikes: [] } : plan,
      isTwice: values.twice || (budget?.isTwice ?? false),
      shrinks: values.shrink,
      stopsAtFirst: values.first,
    })),
    Number(values.jobs),
    (each) => {
      judged.push(each);
      if (each.violations.length > 0) say(reportOf(each));
      return !values.first || each.violations.length === 0;
    },
  );

  const broken = judged.flatMap(({ violations }) => violations);
  const hours = sum(judged.map((each) => each.hours));
  const cpuSeconds = sum(judged.map(({ cpuMs }) => cpuMs)) / 1_000;
  const struck = counted(judged.flatMap((each) => Object.entries(each.struck)));
  const seen = counted(
    judged.flatMap(({ situations }) => situations.map((id) => [id, 1] as const)),
  );
  const missed = (budget?.situations ?? []).filter((id) => !seen.has(id));
  if (values.json) {
    const totals = { runs: judged.length, violations: broken.length, hours, cpuSeconds, missed };
    const counts = { struck: Object.fromEntries(struck), sometimes: Object.fromEntries(seen) };
    console.log(JSON.stringify({ ...totals, ...counts, judged }));
  } else {
    const rows = Object.entries(SITUATIONS).map(([id, sentence]) => [seen.get(id) ?? 0, sentence]);
    console.log(table([['hits', 'fault'], ...[...struck].map(([kind, count]) => [count, kind])]));
    console.log(table([['runs', 'situation'], ...rows]));
    console.log(
      `${judged.length} runs, ${broken.length} violations, ${hours.toFixed(1)} virtual hours, ` +
        `${(hours / cpuSeconds).toFixed(2)} of them in a second of CPU`,
    );
    for (const id of missed) console.log(`did not come about: ${SITUATIONS[id]}`);
  }
  process.exitCode = broken.length > 0 || missed.length > 0 ? 1 : 0;
}

function reportOf({ plan, violations, shrunk }: Judged): string {
  const rules = new Map(violations.map((each) => [each.rule, each]));
  const file = join(tmpdir(), `shepherd-plan-${plan.seed}.json`);
  const { seed, machines, daemons, hours } = plan;
  if (shrunk) writeFileSync(file, JSON.stringify(shrunk.plan));
  return [
    `seed ${seed}: ${violations.length} violations`,
    ...[...rules.values()].map(
      ({ rule, sentence, detail }) => `  ${rule} (${sentence}): ${detail}`,
    ),
    ...(shrunk ? ['the story:', ...tellStory(shrunk).map((line) => `  ${line}`)] : []),
    `again: npm run simulate -- --seed ${seed} --machines ${machines} --daemons ${daemons} --hours ${hours}`,
    ...(shrunk ? [`the story alone: npm run simulate -- --plan ${file} --no-shrink`] : []),
  ].join('\n');
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const counted = (entries: readonly (readonly [string, number])[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const [key, count] of entries) counts.set(key, (counts.get(key) ?? 0) + count);
  return new Map([...counts].toSorted(([a], [b]) => a.localeCompare(b)));
};

if (isMainThread) await main();
else
  parentPort!.on(
    'message',
    (job: Job) => void judge(job).then((each) => parentPort!.postMessage(each)),
  );
