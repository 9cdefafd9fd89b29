import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf, looksLike, ROOT, type Block } from '../simulator/fakequinix/document.ts';
import { withCommandedFleet, type CommandedFleet } from './machine-fleet.ts';

const blocks = blocksOf('docs/machine-commands.md');
const examples = blocks.filter(({ language }) => language === 'sh');
/** What the document shows right after a block. */
const shownAfter = (block: Block): Block | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next?.language === 'text' ? next : undefined;
};
const BOUNDARY = '--- end of the block of line';
/** Two dozen processes, one after the other. */
const LIMIT_MS = 300_000;

let outputs: Map<number, string>;
const directory = mkdtempSync(join(tmpdir(), 'machine-document-'));
beforeAll(async () => {
  await withCommandedFleet(3, async (fleet) => {
    outputs = await runAll(fleet);
  });
}, LIMIT_MS + 60_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A `shepherd` on the path, as if it were installed. */
function installShepherd(): void {
  const launcher = join(directory, 'shepherd');
  const start = `exec '${process.execPath}' '${join(ROOT, 'bin/shepherd.mjs')}' "$@"`;
  writeFileSync(launcher, `#!/bin/sh\n${start}\n`);
  chmodSync(launcher, 0o755);
}

/** Runs every block in one shell, as a reader would, and answers what each of them printed. */
async function runAll({ file, env }: CommandedFleet): Promise<Map<number, string>> {
  installShepherd();
  const script = [
    'exec 2>&1',
    'set -eu',
    ...examples.map((block) => `${block.text}\necho; echo '${BOUNDARY}' ${block.line}`),
  ].join('\n');
  const path = [directory, process.env['PATH']].join(delimiter);
  const shell = spawn('bash', ['-c', script], {
    cwd: directory,
    env: { ...process.env, ...env, PATH: path, SHEPHERD_CONFIG: file },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const limit = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), LIMIT_MS);
  const [stdout, [code]] = await Promise.all([text(shell.stdout), once(shell, 'exit')]);
  clearTimeout(limit);
  const ends = stdout.split('\n').filter((line) => line.startsWith(BOUNDARY)).length;
  expect({ code, ends }, stdout.slice(-2_000)).toEqual({ code: 0, ends: examples.length });
  return outputsIn(stdout);
}

function outputsIn(stdout: string): Map<number, string> {
  let rest = stdout;
  return new Map(
    examples.map(({ line }) => {
      const mark = `\n${BOUNDARY} ${line}\n`;
      const [before = '', ...after] = rest.split(mark);
      rest = after.join(mark);
      return [line, before.trimEnd()];
    }),
  );
}

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.line, shown] as const] : [];
});

test('every command has an example that shows its answer', () => {
  const all = examples.map(({ text: command }) => command).join('\n');
  const verbs = [
    ...['show', 'history', 'restart-agent', 'reboot', 'reinstall', 'hold', 'unhold', 'quarantine'],
    ...['release', 'deprovision', 'clear-backoff', 'install', 'cancel-install', 'withdraw'],
  ].map((verb) => `machine ${verb}`);
  const fleet = ['fleet freeze', 'fleet thaw', 'fleet status'];
  const missing = ['machines', ...verbs, ...fleet].filter(
    (command) => !all.includes(`shepherd ${command}`),
  );
  expect(missing).toEqual([]);
  expect(withAnswer.length).toBeGreaterThan(12);
});

test.each(withAnswer)('the example of line %i answers what is shown', (line, shown) => {
  const output = outputs.get(line)!;
  expect(looksLike(output, shown.text.trimEnd()), output).toBe(true);
});
