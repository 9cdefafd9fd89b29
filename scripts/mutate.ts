/**
 * Checks whether the tests notice mistakes: makes each mutation of `test/mutations/` in a copy of
 * the tree, runs the tests that it names, and lists the mutations that no test noticed.
 *
 *     npm run mutate -- [FILE …] [--only ID[,ID]] [--jobs N] [--every N] [--judge simulation [--seeds N]]
 *
 * FILE is a list (`test/mutations/sql.ts`, or `sql`), a file or folder of `src/`, or `core` for the
 * lists of deciding code; default: all. Only a failed expectation notices a mutation. A run that
 * failed by time, hooks or a crash counts if the same tests pass without the mutation. A mutation
 * that fails to load does not count. Exits 1 if less than 95 % were noticed, if a mutation no
 * longer applies or fails to load, or if tests fail without any mutation.
 *
 * `--judge simulation` uses the simulation instead of the tests: the first N seeds (20) that reach
 * a mutation play it until a rule breaks. `--every N` takes every Nth mutation.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { table } from 'table';
import type { Mutation } from '../test/mutations/mutation.ts';
import { CORE, createSimulationJudge, type SimulationJudge } from './simulation-judge.ts';
import { verdictOf, type Report, type RunEnd } from './verdict.ts';

const AIM = 0.95;
/** Time limit of a run that may hang. */
const LIMIT_S = 240;
/**
 * Time limit of waits in tests with a mutation, which often prevents what they wait for. A longer
 * run may fail because the machine is slow, and is compared with a run without the mutation.
 */
const PATIENCE_S = 30;
/** Time per test file if all of them run at once. */
const LIMIT_PER_FILE_S = 60;
const root = join(import.meta.dirname, '..');
const LISTS = 'test/mutations/*.ts';

interface Listed extends Mutation {
  readonly area: string;
}
/** `late`: noticed only by time, hooks or a crash. `unsure`: the tests also fail without it. */
type Found = 'killed' | 'late' | 'survived' | 'unsure' | 'broken' | 'stale';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    every: { type: 'string', default: '1' },
    judge: { type: 'string', default: 'tests' },
    seeds: { type: 'string', default: '20' },
  },
});

async function readLists(): Promise<Listed[]> {
  const files = globSync(LISTS, { cwd: root }).filter((file) => basename(file) !== 'mutation.ts');
  const lists = await Promise.all(
    files.toSorted().map(async (file) => {
      const module = (await import(join(root, file))) as { mutations: readonly Mutation[] };
      return module.mutations.map((mutation) => ({ ...mutation, area: basename(file, '.ts') }));
    }),
  );
  return lists.flat();
}

const asked = positionals.flatMap((name) => (name === 'core' ? CORE : [name]));
const isMeant = (mutation: Listed): boolean =>
  (values.only === undefined || values.only.split(',').includes(mutation.id)) &&
  (positionals.length === 0 ||
    asked.some(
      (name) => basename(name, '.ts') === mutation.area || mutation.file.startsWith(name),
    ));

/** Copies the tree for mutations; the installed packages are shared. */
function copyTree(): void {
  const copy = mkdtempSync(join(tmpdir(), 'shepherd-mutate-'));
  copies.push(copy);
  const folders = [
    'src',
    'emulators',
    'generated',
    'test',
    'web',
    'proto',
    'bin',
    'scripts',
    'docs',
  ];
  for (const part of [...folders, 'README.md']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  for (const part of ['package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, part), join(copy, part));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

/** Process groups of current runs. */
const running = new Set<number>();
const copies: string[] = [];

function cleanUp(): void {
  for (const group of running) killGroup(group);
  for (const copy of copies) rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

// The tests run in their own process groups, which our interrupt does not reach.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => {
    cleanUp();
    process.exit(code);
  });
}

type Tests = Pick<Mutation, 'tests' | 'named'>;

/** Runs a Node program in a copy. @returns its exit code; null: timeout. */
async function spawnIn(
  copy: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitS: number,
) {
  const child = spawn(process.execPath, args, {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const group = child.pid!;
  running.add(group);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => void (output += chunk.toString('utf8')));
  }
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    killGroup(group);
  }, limitS * 1_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(limit);
  running.delete(group);
  return { code: isLate ? null : code, output };
}

/** Runs tests in a copy until the first failure. */
async function run(
  copy: string,
  { tests, named }: Tests,
  { limitS = LIMIT_S, patienceS = PATIENCE_S } = {},
) {
  const file = join(copy, 'report.json');
  rmSync(file, { force: true });
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`];
  const args = ['run', '--bail=1', ...reporters, ...(named ? ['-t', named] : []), ...tests];
  const { code, output } = await spawnIn(
    copy,
    [join(root, 'node_modules/.bin/vitest'), ...args],
    { CI: 'true', SHEPHERD_TEST_PATIENCE_SECONDS: String(patienceS) },
    limitS,
  );
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : null;
  const end: RunEnd = { code, report };
  return { end, output };
}

async function judge(copy: string, mutation: Mutation): Promise<Found> {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  if (original.split(mutation.find).length !== 2) return 'stale';
  writeFileSync(
    path,
    original.replace(mutation.find, () => mutation.replace),
  );
  try {
    if (simulation) return await simulation.judge(copy, mutation, original);
    const begunAt = performance.now();
    const { end } = await run(copy, mutation);
    const verdict = verdictOf(end);
    const wasQuick = performance.now() - begunAt < PATIENCE_S * 1_000;
    if (verdict !== 'doubtful' && (verdict !== 'killed' || wasQuick)) return verdict;
  } finally {
    writeFileSync(path, original);
  }
  const { end } = await run(copy, mutation);
  return verdictOf(end) === 'survived' ? 'late' : 'unsure';
}

/** Checks that the tests pass without a mutation. */
async function checkUnchanged(copy: string, mutations: readonly Listed[]): Promise<void> {
  const all = [...new Set(mutations.flatMap(({ tests }) => tests))];
  const limitS = LIMIT_S + LIMIT_PER_FILE_S * all.length;
  const { end, output } = await run(copy, { tests: all }, { limitS, patienceS: LIMIT_S });
  if (end.code === 0) return;
  process.stderr.write(output);
  if (end.code === null) throw new Error(`mutate: the tests did not end within ${limitS} s`);
  throw new Error('mutate: the tests fail without a mutation; fix them first');
}

const mutations = (await readLists()).filter(isMeant);
const counted = mutations
  .filter(({ equivalent }) => equivalent === undefined)
  .filter((_, at) => at % Number(values.every) === 0);
if (counted.length === 0) throw new Error(`mutate: no mutation of ${positionals.join(', ')}`);
const jobs = Math.max(1, Number(values.jobs));
const verdicts = new Map<string, Found>();
let simulation: SimulationJudge | null = null;
try {
  for (let job = 0; job < Math.min(jobs, counted.length); job += 1) copyTree();
  if (values.judge === 'simulation') {
    simulation = await createSimulationJudge(copies[0]!, Number(values.seeds), spawnIn);
  } else await checkUnchanged(copies[0]!, counted);
  const free = [...copies];
  const turn = pLimit(copies.length);
  await turn.map(counted, async (mutation) => {
    const copy = free.pop()!;
    const verdict = await judge(copy, mutation);
    free.push(copy);
    verdicts.set(mutation.id, verdict);
    console.log(`${verdict.padEnd(8)} ${mutation.area}: ${mutation.id} (${mutation.file})`);
  });
} finally {
  cleanUp();
}

const isNoticed = (mutation: Listed): boolean =>
  ['killed', 'late'].includes(verdicts.get(mutation.id) ?? '');
const percent = (of: readonly Listed[]): string =>
  `${((100 * of.filter(isNoticed).length) / of.length).toFixed(1)} %`;
const areas = [...new Set(counted.map(({ area }) => area))];
const rows = areas.map((area) => {
  const own = counted.filter((mutation) => mutation.area === area);
  return [area, own.length, own.filter(isNoticed).length, percent(own)];
});
console.log(
  table([
    ['area', 'mutations', 'noticed', 'score'],
    ...rows,
    ['all', counted.length, counted.filter(isNoticed).length, percent(counted)],
  ]),
);
const unnoticed = counted.filter((mutation) => !isNoticed(mutation));
for (const { id, file } of unnoticed) console.log(`${verdicts.get(id)}: ${id} in ${file}`);
const isUnjudged = [...verdicts.values()].some((found) => found === 'stale' || found === 'broken');
const score = 1 - unnoticed.length / counted.length;
process.exitCode = score >= AIM && !isUnjudged ? 0 : 1;
