import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf, looksLike, ROOT, type Block } from '../support/document-blocks.ts';
import { withCommandedFleet, type CommandedFleet } from './machine-fleet.ts';
import { RUNBOOK_COMMANDS } from './runbook-commands.ts';
import { testRows } from '../support/rows.ts';

/** A block, and where a reader finds it: documents are read in this order. */
interface Placed extends Block {
  readonly place: string;
}
const blocks = ['docs/cli.md', 'docs/machine-commands.md'].flatMap((document) =>
  blocksOf(document).map((block): Placed => ({ ...block, place: `${document}:${block.line}` })),
);
const examples = blocks.filter(({ language }) => language === 'sh');
/** What the document shows right after a block. */
const shownAfter = (block: Placed): Block | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next?.language === 'text' ? next : undefined;
};
const BOUNDARY = '--- end of the block of line';
/** Two dozen processes, one after the other. */
const LIMIT_MS = 900_000;

let outputs: Map<string, string>;
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
async function runAll({ consoleEnv }: CommandedFleet): Promise<Map<string, string>> {
  installShepherd();
  const script = [
    'exec 2>&1',
    'set -eu',
    ...examples.map((block) => `${block.text}\necho; echo '${BOUNDARY}' ${block.place}`),
    ...RUNBOOK_COMMANDS,
  ].join('\n');
  const path = [directory, process.env['PATH']].join(delimiter);
  const shell = spawn('bash', ['-c', script], {
    cwd: directory,
    env: {
      // The documents show what a terminal of 80 columns shows.
      ...{ ...process.env, COLUMNS: '80', PATH: path, XDG_CONFIG_HOME: join(directory, 'config') },
      ...{ CONSOLE: consoleEnv['SHEPHERD_URL'], TOKEN: consoleEnv['SHEPHERD_TOKEN'] },
    },
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

function outputsIn(stdout: string): Map<string, string> {
  let rest = stdout;
  return new Map(
    examples.map(({ place }) => {
      const mark = `\n${BOUNDARY} ${place}\n`;
      const [before = '', ...after] = rest.split(mark);
      rest = after.join(mark);
      return [place, before.trimEnd()];
    }),
  );
}

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.place, shown] as const] : [];
});

test('V55 the commands of runbooks ran, too, or the shell would have ended before', () => {
  expect(RUNBOOK_COMMANDS.length).toBeGreaterThan(4);
  for (const command of RUNBOOK_COMMANDS) expect(command).toMatch(/^shepherd /);
});

test('every command has an example that shows its answer', () => {
  const all = examples.map(({ text: command }) => command).join('\n');
  const verbs = [
    ...[
      'show',
      'explain',
      'history',
      'wait',
      'restart-agent',
      'reboot',
      'reinstall',
      'hold',
      'unhold',
      'quarantine',
    ],
    ...['release', 'deprovision', 'clear-backoff', 'install', 'cancel-install', 'withdraw'],
  ].map((verb) => `machine ${verb}`);
  const fleet = ['fleet freeze', 'fleet thaw', 'fleet status'];
  const missing = ['machines', ...verbs, ...fleet].filter(
    (command) => !all.includes(`shepherd ${command}`),
  );
  expect(missing).toEqual([]);
  expect(withAnswer.length).toBeGreaterThan(12);
});

testRows(withAnswer)('the example of %s answers what is shown', (place, shown) => {
  const output = outputs.get(place)!;
  expect(looksLike(output, shown.text.trimEnd()), output).toBe(true);
});
