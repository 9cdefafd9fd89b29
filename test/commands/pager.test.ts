import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sayPaged } from '../../src/commands/remote/output.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shepherd-pager-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A terminal of so many rows, or none; what was written to it itself. */
async function said(text: string, rows: number | null, env: NodeJS.ProcessEnv): Promise<string> {
  let written = '';
  const stream = {
    isTTY: rows !== null,
    rows: rows ?? undefined,
    write: (part: string) => (written += part),
  };
  await sayPaged(text, stream as unknown as NodeJS.WriteStream, {
    PATH: process.env['PATH'],
    ...env,
  });
  return written;
}

const LONG = 'line\n'.repeat(30);

test('what is longer than the terminal goes through the pager', async () => {
  const file = join(dir, 'paged');
  const env = { PAGER: `cat > '${file}'` };
  expect(await said(LONG, 24, env)).toBe('');
  expect(readFileSync(file, 'utf8')).toBe(LONG);
});

test('what fits, and what goes to no terminal, is written at once', async () => {
  const env = { PAGER: 'false' };
  expect(await said('line\n', 24, env)).toBe('line\n');
  expect(await said(LONG, null, env)).toBe(LONG);
  expect(await said(LONG, 24, { PAGER: '' })).toBe(LONG);
});

test('without the pager it is written, and one that is left early is no failure', async () => {
  expect(await said(LONG, 24, { PAGER: join(dir, 'absent') })).toBe(LONG);
  expect(await said(LONG.repeat(10_000), 24, { PAGER: 'head -c 1 >/dev/null' })).toBe('');
});
