import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importViolations } from '../../repo/arrows.ts';
import { root } from '../../repo/sources.ts';
import { looksLike } from '../../support/document-blocks.ts';

/** Follows docs/writing-a-provider.md literally, in a copy of the project. */
const run = promisify(execFile);
const DOCUMENT = join(root, 'docs/writing-a-provider.md');

interface CodeBlock {
  readonly language: string;
  /** A path, or the purpose of the block. */
  readonly name: string;
  readonly text: string;
}
const blocks = (): CodeBlock[] =>
  [...readFileSync(DOCUMENT, 'utf8').matchAll(/^```(\w+) (\S+)\n([^]*?)^```$/gm)].map(
    ([, language, name, text]) => ({ language: language!, name: name!, text: text! }),
  );
const named = (name: string): string => {
  const block = blocks().find((each) => each.name === name);
  if (!block) throw new Error(`the document has no block ${name}`);
  return block.text;
};

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'shepherd-toy-'));
  for (const part of [
    'src',
    'emulators',
    'generated',
    'bin',
    'proto',
    'test/adapters/provider/toy',
    'package.json',
    'tsconfig.json',
  ]) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  execFileSync('sh', ['-euc', named('copy')], { cwd: copy });
  for (const { language, name, text } of blocks()) {
    if (language === 'diff') change(name, text);
    else if (name.includes('/')) write(name, text);
  }
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(copy, name)), { recursive: true });
  writeFileSync(join(copy, name), text);
}

/** Inserts each line with a plus after the line that precedes it. */
function change(name: string, diff: string): void {
  const lines = readFileSync(join(copy, name), 'utf8').split('\n');
  let at = -1;
  for (const line of diff.trimEnd().split('\n')) {
    const text = line.slice(1);
    if (line.startsWith('+')) lines.splice((at += 1), 0, text);
    else at = lines.findIndex((each) => each.trimEnd() === text.trimEnd());
    expect(at, `${name} has the line ${text}`).toBeGreaterThan(-1);
  }
  write(name, lines.join('\n'));
}

/** Without values that change at each run. */
const steady = (output: string): string =>
  output
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replace(/:\d{4,5}\b|-p \d+/g, ':PORT')
    .replace(/,? +(in )?\d+(\.\d+)?(ms|s|m)( \d+s)?$/gm, '')
    .trim();

test('runs the driver of the document through its test with the stated result', async () => {
  const [node, ...args] = named('run').trim().split(' ');
  expect(node).toBe('node');
  const { stdout } = await run(process.execPath, args, { cwd: copy, timeout: 600_000 });
  expect(looksLike(steady(stdout), steady(named('output'))), stdout).toBe(true);
  expect(stdout).toMatch(/^Passed: /m);
});

test('type-checks the code of the document, which respects the layering', async () => {
  const files = readdirSync(join(copy, 'src/adapters/provider/toy')).toSorted();
  expect(files).toEqual(['driver.ts', 'pretend-machine.ts', 'rack.ts', 'toy-provider.ts']);
  const sources = [...files.map((name) => `toy/${name}`), 'drivers.ts'].map(
    (name) => `src/adapters/provider/${name}`,
  );
  const violations = sources.flatMap((path) =>
    importViolations({ path, text: readFileSync(join(copy, path), 'utf8') }),
  );
  expect(violations).toEqual([]);
  const folder = 'src/adapters/provider/toy';
  write('toy.json', JSON.stringify({ extends: './tsconfig.json', include: [folder] }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '--noEmit', '--project', 'toy.json'], {
    cwd: copy,
    timeout: 600_000,
  }).catch((error: { stdout: string }) => error);
  expect(stdout.split('\n').filter((line) => line.startsWith(folder))).toEqual([]);
});
