/**
 * Asks the tests whether they would notice: makes each mutation of `test/mutations/` in a copy of the
 * tree, runs the tests that it names, and tells which mutations none of them noticed.
 *
 *     npm run mutate -- [FILE …] [--only ID] [--jobs N]
 *
 * FILE is a list (`test/mutations/sql.ts`, or `sql`), or a file or folder of `src/` whose mutations are
 * meant; all without one. Exits with 1 when less than 95 % of the mutations were noticed, when a
 * mutation no longer applies, or when the tests are red without any.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
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

const AIM = 0.95;
/** A run that hangs has noticed something, but nobody can wait for it. */
const LIMIT_S = 240;
const root = join(import.meta.dirname, '..');
const LISTS = 'test/mutations/*.ts';

interface Listed extends Mutation {
  readonly area: string;
}
type Verdict = 'killed' | 'survived' | 'hung' | 'stale';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, jobs: { type: 'string', default: '2' } },
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

const isMeant = (mutation: Listed): boolean =>
  (values.only === undefined || mutation.id === values.only) &&
  (positionals.length === 0 ||
    positionals.some(
      (name) => basename(name, '.ts') === mutation.area || mutation.file.startsWith(name),
    ));

/** A copy of the tree to make mistakes in; the installed packages are shared. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'shepherd-mutate-'));
  for (const part of ['src', 'test', 'proto', 'bin', 'scripts', 'docs', 'README.md']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  for (const part of ['package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, part), join(copy, part));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs tests in a copy until the first is red. Null: it did not end in time. */
async function areGreen(copy: string, tests: readonly string[], named?: string) {
  const args = ['run', '--bail=1', '--reporter=dot', ...(named ? ['-t', named] : []), ...tests];
  const child = spawn(join(root, 'node_modules/.bin/vitest'), args, {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CI: 'true' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => void (output += chunk.toString('utf8')));
  }
  let hung = false;
  const limit = setTimeout(() => {
    hung = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, LIMIT_S * 1_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(limit);
  return { green: hung ? null : code === 0, output };
}

async function judge(copy: string, mutation: Mutation): Promise<Verdict> {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  if (original.split(mutation.find).length !== 2) return 'stale';
  writeFileSync(
    path,
    original.replace(mutation.find, () => mutation.replace),
  );
  try {
    const { green } = await areGreen(copy, mutation.tests, mutation.named);
    return green === null ? 'hung' : green ? 'survived' : 'killed';
  } finally {
    writeFileSync(path, original);
  }
}

/** The tests must be green before a red one means anything. */
async function checkUnchanged(copy: string, mutations: readonly Listed[]): Promise<void> {
  const all = [...new Set(mutations.flatMap(({ tests }) => tests))];
  const { green, output } = await areGreen(copy, all);
  if (green) return;
  process.stderr.write(output);
  throw new Error('mutate: the tests are red without a mutation; mend them first');
}

const mutations = (await readLists()).filter(isMeant);
const counted = mutations.filter(({ equivalent }) => equivalent === undefined);
if (counted.length === 0) throw new Error(`mutate: no mutation of ${positionals.join(', ')}`);
const jobs = Math.max(1, Number(values.jobs));
const copies = Array.from({ length: Math.min(jobs, counted.length) }, copyTree);
const verdicts = new Map<string, Verdict>();
try {
  await checkUnchanged(copies[0]!, counted);
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
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}

const isNoticed = (mutation: Listed): boolean =>
  ['killed', 'hung'].includes(verdicts.get(mutation.id) ?? '');
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
for (const { id, file } of unnoticed) console.log(`not noticed: ${id} in ${file}`);
const isStale = [...verdicts.values()].includes('stale');
const score = 1 - unnoticed.length / counted.length;
process.exitCode = score >= AIM && !isStale ? 0 : 1;
