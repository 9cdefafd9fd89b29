import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startFakengine } from '../../../src/simulator/fakengine/fakengine.ts';
import type { FaultRule } from '../../../src/simulator/fakengine/fault-rules.ts';
import { LIMIT_MS, runBlocks } from '../document-shell.ts';
import { type Block, blocksOf, differences, ROOT } from '../fakequinix/document.ts';
import { testRows } from '../../support/rows.ts';

const blocks = blocksOf('docs/fakengine.md');
const examples = blocks.filter(({ language }) => language === 'sh');
/** What the document shows right after a block. */
const shownAfter = (block: Block): Block | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next && ['json', 'text'].includes(next.language) ? next : undefined;
};

let outputs: ReadonlyMap<number, string>;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fakengine-document-'));
  outputs = await runBlocks(examples, directory);
}, LIMIT_MS + 10_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.line, shown] as const] : [];
});

test('there are examples, and most of them show their answer', () => {
  expect(withAnswer.length).toBeGreaterThan(8);
  expect(withAnswer.length).toBeGreaterThan(examples.length / 2);
});

testRows(withAnswer)('the example of line %i answers what is shown', (line, shown) => {
  const output = outputs.get(line)!;
  const answer: unknown = JSON.parse(output.split('\n').findLast((one) => one !== '')!);
  expect(differences(answer, JSON.parse(shown.text)), output).toEqual([]);
});

test('the example of the library prints what is shown', async () => {
  const [example] = blocks.filter(({ language }) => language === 'ts');
  const source = example!.text.replace(
    'shepherd/dist/simulator/fakengine/fakengine.js',
    join(ROOT, 'src/simulator/fakengine/fakengine.ts'),
  );
  const file = join(directory, 'example.mts');
  writeFileSync(file, source);
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect((await text(child.stdout)).trim()).toBe(shownAfter(example!)!.text.trim());
});

test('the rules that are shown can be used', async () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  const faults = parse(example!.text) as FaultRule[];
  const fake = await startFakengine({ listen: { host: '127.0.0.1', port: 0 }, faults });
  onTestFinished(() => fake.close());
  expect(fake.faults()).toHaveLength(2);
});
