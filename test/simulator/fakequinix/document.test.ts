import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { judgedChild } from '../../published/children.ts';
import { runBlocks } from '../document-shell.ts';
import { blocksOf, differences, looksLike, ROOT, type Block } from './document.ts';
import { testRows } from '../../support/rows.ts';

const blocks = blocksOf();
const examples = blocks.filter(({ language }) => language === 'sh');
/** What the document shows right after a block. */
const shownAfter = (block: Block): Block | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next && ['json', 'text'].includes(next.language) ? next : undefined;
};
const LIMIT_MS = 600_000;

let outputs: ReadonlyMap<number, string>;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fakequinix-document-'));
  const mayComplain = /^\{"level.*\n/gm;
  outputs = await runBlocks(examples, directory, {
    ...{ limitMs: LIMIT_MS, env: judgedChild, mayComplain },
  });
}, LIMIT_MS + 10_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.line, shown] as const] : [];
});

test('there are examples, and most of them show their answer', () => {
  expect(examples.length).toBeGreaterThan(20);
  expect(withAnswer.length).toBeGreaterThan(20);
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
  const [example] = blocks.filter(({ language }) => language === 'ts');
  const source = example!.text.replace(
    'shepherd/dist/simulator/fakequinix/fakequinix.js',
    join(ROOT, 'src/simulator/fakequinix/fakequinix.ts'),
  );
  const file = join(directory, 'example.mts');
  writeFileSync(file, source);
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...judgedChild },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect((await text(child.stdout)).trim()).toBe(shownAfter(example!)!.text.trim());
});

test('the world that is shown can be used', () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  expect(parseWorld(parse(example!.text)).devices).toHaveLength(1);
});

test('a difference from what is shown is found', () => {
  const shown = { a: 'x…', list: [{ b: 1 }], none: [] };
  expect(differences({ a: 'xyz', list: [{ b: 1, c: 2 }, 3], none: [], more: 1 }, shown)).toEqual(
    [],
  );
  expect(differences({ a: 'yx', list: [{ b: 2 }], none: [1] }, shown)).toEqual([
    '$.a: "yx"',
    '$.list[0].b: 2',
    '$.none: is not empty',
  ]);
});
