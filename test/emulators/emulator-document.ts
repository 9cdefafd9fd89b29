import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { testRows } from '../support/rows.ts';
import { LIMIT_MS, runBlocks, type ShellOptions } from './document-shell.ts';
import { type Block, blocksOf, differences, looksLike, ROOT } from './equinix/document.ts';

export interface EmulatorDocument {
  /** Of the project's root. */
  readonly path: string;
  /** Of the emulator below `emulators`, as the example of the library imports it. */
  readonly module: string;
  readonly shell?: ShellOptions;
}

/**
 * Runs every command of an emulator's document in one shell, and its example of the library; each must
 * answer what is shown right after it. Answers the document's blocks.
 */
export function testEmulatorDocument({
  path,
  module,
  shell = {},
}: EmulatorDocument): readonly Block[] {
  const blocks = blocksOf(path);
  const examples = blocks.filter(({ language }) => language === 'sh');
  const shownAfter = (block: Block): Block | undefined => {
    const next = blocks[blocks.indexOf(block) + 1];
    return next && ['json', 'text'].includes(next.language) ? next : undefined;
  };
  let outputs: ReadonlyMap<number, string>;
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'emulator-document-'));
    outputs = await runBlocks(examples, directory, shell);
  }, LIMIT_MS + 10_000);
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
    const [example] = blocks.filter(({ language }) => language === 'ts');
    const built = `shepherd/dist/emulators/${module.replace(/\.ts$/, '.js')}`;
    expect(example!.text).toContain(built);
    const file = join(directory, 'example.mts');
    writeFileSync(file, example!.text.replace(built, join(ROOT, 'emulators', module)));
    const child = spawn(process.execPath, [file], {
      env: { ...process.env, ...shell.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect((await text(child.stdout)).trim()).toBe(shownAfter(example!)!.text.trim());
  });
  return blocks;
}
