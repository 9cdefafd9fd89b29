import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { EngineFaultRule } from '../../emulators/anexia/api.ts';
import { startAnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import {
  type FencedBlock,
  blocksOf,
  differences,
  looksLike,
  ROOT,
  runBlocks,
} from '../support/document-blocks.ts';
import { testRows } from '../support/rows.ts';

/* Runs the document's commands in one shell; each must print what the document shows. */

const blocks = blocksOf('docs/emulators.md');
const examples = blocks.filter(({ language }) => language === 'sh');
const only = (wanted: string): FencedBlock => blocks.find(({ language }) => language === wanted)!;
const shownAfter = (block: FencedBlock): FencedBlock | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next && ['json', 'text'].includes(next.language) ? next : undefined;
};

let outputs: ReadonlyMap<FencedBlock, string>;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'emulator-document-'));
  const first = [
    'end() { for job in $(jobs -p); do kill "$job" || true; done; wait; }',
    'trap end EXIT',
  ];
  outputs = await runBlocks(examples, directory, { first });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.line, block, shown] as const] : [];
});
testRows(withAnswer)(
  'prints what the document shows for the example of line %i',
  (_line, block, shown) => {
    const output = outputs.get(block)!.replaceAll(/ +$/gm, '');
    if (shown.language === 'text') {
      expect(looksLike(output, shown.text.trimEnd()), output).toBe(true);
      return;
    }
    const answer: unknown = JSON.parse(output.split('\n').findLast((one) => one !== '')!);
    expect(differences(answer, JSON.parse(shown.text)), output).toEqual([]);
  },
);

test('prints what the document shows for the library’s example', async () => {
  const example = only('ts');
  const file = join(directory, 'example.mts');
  const source = join(ROOT, 'emulators/anexia/emulator.ts');
  writeFileSync(file, example.text.replace('shepherd/dist/emulators/anexia/emulator.js', source));
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect((await text(child.stdout)).trim()).toBe(shownAfter(example)!.text.trim());
});

test('accepts the rules shown in the document', async () => {
  const faults = parse(only('yaml').text) as EngineFaultRule[];
  const fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 }, faults });
  onTestFinished(() => fake.close());
  expect(fake.faults()).toHaveLength(2);
});
