import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { FaultRule } from '../../emulators/anexia/api.ts';
import { startAnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import { type Block, blocksOf, differences, looksLike, ROOT } from '../support/document-blocks.ts';
import { testRows } from '../support/rows.ts';

/* Every command of the emulators' document runs in one shell; each must answer what is shown right after it. */

const blocks = blocksOf('docs/emulators.md');
const examples = blocks.filter(({ language }) => language === 'sh');
const only = (wanted: string): Block => blocks.find(({ language }) => language === wanted)!;
const shownAfter = (block: Block): Block | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next && ['json', 'text'].includes(next.language) ? next : undefined;
};

let outputs: ReadonlyMap<number, string>;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'emulator-document-'));
  outputs = await runBlocks();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.line, shown] as const] : [];
});
testRows(withAnswer)('the example of line %i answers what is shown', (line, shown) => {
  const output = outputs.get(line)!.replaceAll(/ +$/gm, '');
  if (shown.language === 'text') {
    expect(looksLike(output, shown.text.trimEnd()), output).toBe(true);
    return;
  }
  const answer: unknown = JSON.parse(output.split('\n').findLast((one) => one !== '')!);
  expect(differences(answer, JSON.parse(shown.text)), output).toEqual([]);
});

test('the example of the library prints what is shown', async () => {
  const example = only('ts');
  const file = join(directory, 'example.mts');
  const source = join(ROOT, 'emulators/anexia/emulator.ts');
  writeFileSync(file, example.text.replace('shepherd/dist/emulators/anexia/emulator.js', source));
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect((await text(child.stdout)).trim()).toBe(shownAfter(example)!.text.trim());
});

test('the rules that are shown can be used', async () => {
  const faults = parse(only('yaml').text) as FaultRule[];
  const fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 }, faults });
  onTestFinished(() => fake.close());
  expect(fake.faults()).toHaveLength(2);
});

const BOUNDARY = '--- end of the block of line';
const LIMIT_MS = 10 * 60_000;

/** A `shepherd` on the path, as if it were installed. */
function installShepherd(directory: string): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const launcher = join(bin, 'shepherd');
  writeFileSync(
    launcher,
    `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/bin/shepherd.mjs' "$@"\n`,
  );
  chmodSync(launcher, 0o755);
  return bin;
}

/** Runs every block in one shell, as a reader would. Answers what each printed, by its line. */
async function runBlocks(): Promise<ReadonlyMap<number, string>> {
  const script = [
    'set -eu',
    'end() { for job in $(jobs -p); do kill "$job" || true; done; wait; }',
    'trap end EXIT',
    ...examples.map((block) => `${block.text}\necho; echo '${BOUNDARY}' ${block.line}`),
  ].join('\n');
  const path = [installShepherd(directory), process.env['PATH']].join(delimiter);
  const shell = spawn('bash', ['-c', script], {
    cwd: directory,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), LIMIT_MS);
  const [stdout, stderr, [code]] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, 'exit'),
  ]);
  clearTimeout(limit);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const found = new Map<number, string>();
  let rest = stdout;
  for (const { line } of examples) {
    const mark = `\n${BOUNDARY} ${line}\n`;
    const end = rest.indexOf(mark);
    found.set(line, rest.slice(0, end).trimEnd());
    rest = rest.slice(end + mark.length);
  }
  return found;
}
