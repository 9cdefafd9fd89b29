import { globSync } from 'node:fs';
import path from 'node:path';
import { Command, Argument, InvalidArgumentError, Option } from 'commander';
import { textOf, type Suite, type SuiteOptions } from './suite.ts';

/**
 * `npm run bench -- <suite>`: a suite is a file of `suites/` that exports `suite`. With `--json`
 * stdout is one JSON object; progress goes to stderr.
 */
const SUITES = path.join(import.meta.dirname, 'suites');
const names = globSync('*.ts', { cwd: SUITES })
  .map((file) => path.basename(file, '.ts'))
  .toSorted();

interface Flags extends Omit<SuiteOptions, 'progress'> {
  readonly json?: true;
}

const load = async (name: string) =>
  ((await import(path.join(SUITES, `${name}.ts`))) as { suite: Suite }).suite;

const positive = (text: string): number => {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a positive number.');
  return value;
};
const count = (text: string): number => Math.ceil(positive(text));

// Exits in order, so that nothing is left behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

await new Command('bench')
  .description('Measures a part of the program, beside what others reach on the same machine.')
  .addArgument(new Argument('<suite>', 'what to measure').choices(names))
  .option('--json', 'print one JSON object')
  .addOption(new Option('--rounds <n>', 'how often; the median counts').argParser(count).default(5))
  .addOption(
    new Option('--span-ms <n>', 'length of one measurement').argParser(positive).default(1_000),
  )
  .addOption(
    new Option('--scale <n>', 'share of the machines and jobs').argParser(positive).default(1),
  )
  .action(async (name: string, { json, ...options }: Flags) => {
    const suite = await load(name);
    const progress = (line: string) => process.stderr.write(`${line}\n`);
    progress(`${name}: ${suite.summary}`);
    const figures = await suite.run({ ...options, progress });
    console.log(json ? JSON.stringify(figures) : textOf(figures));
  })
  .parseAsync();
