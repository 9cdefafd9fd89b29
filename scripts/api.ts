/**
 * Writes `generated/openapi.json`, the description of the console's API, from the schemas of its
 * routes. Adds new promises to `promised.txt` beside it. With `--check` it changes nothing and
 * exits 1 if a file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describeApi } from '../src/console/api/api.ts';
import { promisesOf, type Description } from './api-promises.ts';

const folder = join(import.meta.dirname, '..', 'generated');
const FILE = join(folder, 'openapi.json');
const PROMISED = join(folder, 'promised.txt');

const options = await resolveConfig(FILE);
const text = await format(await describeApi(), { ...options, parser: 'json' });
const before = readFileSync(PROMISED, 'utf8').split('\n').filter(Boolean);
const all = [...new Set([...before, ...promisesOf(JSON.parse(text) as Description)])];
const files = [
  { file: FILE, made: text },
  { file: PROMISED, made: `${all.toSorted().join('\n')}\n` },
];
for (const { file, made } of files) {
  if (!process.argv.includes('--check')) writeFileSync(file, made);
  else if (readFileSync(file, 'utf8') !== made) {
    console.error(`${file} is not what the routes say: npm run api`);
    process.exitCode = 1;
  }
}
