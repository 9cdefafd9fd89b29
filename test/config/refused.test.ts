import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse as read } from 'yaml';
import { parseConfig } from '../../src/config.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { TOKEN, env, minimal, rack, withValue } from './examples.ts';
import { pooled, shelves } from './pooled.ts';

const FILE = join(import.meta.dirname, 'refused.txt');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-refused-'));
  writeFileSync(join(directory, 'empty'), '\n', { mode: 0o600 });
  writeFileSync(join(directory, 'open'), 'value', { mode: 0o644 });
  execFileSync('mkfifo', ['-m', '600', join(directory, 'pipe')]);
  mkdirSync(join(directory, 'passed'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const variables = () => ({ ...env, FIFTEEN: 'fifteen-letters', SIXTEEN: 'sixteen-letters-' });
const BASES: Record<string, (changed: (input: unknown) => unknown) => unknown> = {
  usual: (changed) =>
    parseConfig(changed(minimal()), { env: variables(), baseDirectory: directory }),
  'credentials passed on': (changed) =>
    parseConfig(changed(minimal()), {
      env: { ...variables(), CREDENTIALS_DIRECTORY: join(directory, 'passed') },
    }),
  rack: (changed) =>
    parseConfig(changed({ ...minimal(), providers: { rack: { ...rack } } }), {
      env: variables(),
      baseDirectory: directory,
    }),
  pools: (changed) => parseConfig(changed(pooled()), { env }, { balancers: shelves }),
};

/** `path: value` replaces, `- path` removes. */
function changedBy(lines: readonly string[]) {
  return (input: unknown) =>
    lines.reduce((done, line) => {
      if (line.startsWith('- ')) return withValue(line.slice(2), undefined, done);
      const [[path, value]] = Object.entries(read(line) as object) as [[string, unknown]];
      return withValue(path, value, done);
    }, input);
}

/** Each paragraph changes the example named above it; indented lines are the messages. */
test('refuses mistakes with the messages of the table', async () => {
  let base = '';
  const said = readFileSync(FILE, 'utf8')
    .trim()
    .split('\n\n')
    .map((paragraph) => {
      const asked = paragraph.split('\n').filter((line) => !line.startsWith(' '));
      if (asked[0]!.startsWith('= ')) {
        base = asked[0]!.slice(2);
        return paragraph;
      }
      try {
        BASES[base]!(changedBy(asked.filter((line) => !line.startsWith('#'))));
        return [...asked, '    taken'].join('\n');
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        const [, ...faults] = error.message.split('\n');
        for (const fault of faults) expect(fault, 'says what to do').toMatch(/; \S|: \S/);
        return [...asked, ...faults.map((fault) => `  ${fault}`)].join('\n');
      }
    })
    .join('\n\n');
  expect(said, 'a secret is never repeated').not.toContain(TOKEN);
  await expect(`${said.replaceAll(directory, '(here)')}\n`).toMatchFileSnapshot(FILE);
});
