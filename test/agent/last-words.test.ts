import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lastWords } from '../../src/agent/program.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'last-words-'));
  path = join(dir, 'agent.log');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const said = (...lines: string[]) => {
  writeFileSync(path, lines.map((line) => `2026-01-01T00:00:00.000Z ${line}\n`).join(''));
  return lastWords(path);
};
const FAIL = 'heartbeats fail: not trusted';

describe('C6: the last words of an agent', () => {
  test.each([
    [[]],
    [['heartbeats are accepted']],
    [[FAIL, 'heartbeats are accepted', 'ended: stopped']],
    [['ended: stopped']],
  ])('are empty if all was well: %j', (lines) => expect(said(...lines)).toBeNull());

  test('are the lines after the last success', () => {
    expect(said('heartbeats are accepted', FAIL, 'ended: stopped')).toBe(
      `2026-01-01T00:00:00.000Z ${FAIL}`,
    );
    expect(said(FAIL, 'ended: disowned')).toMatch(/not trusted \| .*ended: disowned$/);
  });

  test('are at most ten lines and two KiB, in whole lines', () => {
    const many = said(...Array.from({ length: 100 }, (_, index) => `line ${index}`))!;
    expect(many.split(' | ')).toHaveLength(10);
    expect(many).toMatch(/line 99$/);
    const long = said('x'.repeat(3_000), 'y'.repeat(1_500))!;
    expect(long).toMatch(/^2026-01-01T00:00:00\.000Z y+$/);
  });

  test('are empty without a readable log', () => {
    expect(lastWords(join(dir, 'absent'))).toBeNull();
    expect(lastWords(dir)).toBeNull();
    symlinkSync('/etc/passwd', path);
    expect(lastWords(path)).toBeNull();
    const pipe = join(dir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(lastWords(pipe)).toBeNull();
  });
});
