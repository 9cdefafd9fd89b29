import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf, looksLike, runBlocks, type FencedBlock } from '../support/document-blocks.ts';
import { withCommandedFleet } from './machine-fleet.ts';
import { RUNBOOK_COMMANDS } from './runbook-commands.ts';
import { testRows } from '../support/rows.ts';

/** A block, and its place: documents are read in this order. */
interface Placed extends FencedBlock {
  readonly place: string;
}
const blocks = ['docs/cli.md', 'docs/machine-commands.md'].flatMap((document) =>
  blocksOf(document).map((block): Placed => ({ ...block, place: `${document}:${block.line}` })),
);
const examples = blocks.filter(({ language }) => language === 'sh');
/** The document's text right after a block. */
const shownAfter = (block: Placed): FencedBlock | undefined => {
  const next = blocks[blocks.indexOf(block) + 1];
  return next?.language === 'text' ? next : undefined;
};
/** Two dozen processes, one after the other. */
const LIMIT_MS = 900_000;

let outputs: ReadonlyMap<FencedBlock, string>;
const directory = mkdtempSync(join(tmpdir(), 'machine-document-'));
beforeAll(async () => {
  await withCommandedFleet(3, async ({ consoleEnv }) => {
    const { SHEPHERD_URL, SHEPHERD_TOKEN } = consoleEnv;
    outputs = await runBlocks(examples, directory, {
      first: ['exec 2>&1'],
      last: RUNBOOK_COMMANDS,
      // The documents show a terminal of 80 columns.
      env: {
        ...{ COLUMNS: '80', XDG_CONFIG_HOME: join(directory, 'config') },
        ...{ CONSOLE: SHEPHERD_URL, TOKEN: SHEPHERD_TOKEN },
      },
    });
  });
}, LIMIT_MS + 60_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const withAnswer = examples.flatMap((block) => {
  const shown = shownAfter(block);
  return shown ? [[block.place, block, shown] as const] : [];
});

test('V55 ran the commands of runbooks too, or the shell would have ended before', () => {
  expect(RUNBOOK_COMMANDS.length).toBeGreaterThan(4);
  for (const command of RUNBOOK_COMMANDS) expect(command).toMatch(/^shepherd /);
});

test('has an example with its answer for every command', () => {
  const all = examples.map(({ text }) => text).join('\n');
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
  expect(withAnswer.length).toBeGreaterThan(10);
});

testRows(withAnswer)(
  'prints what the document shows for the example of %s',
  (_place, block, shown) => {
    const output = outputs.get(block)!;
    expect(looksLike(output, shown.text.trimEnd()), output).toBe(true);
  },
);
