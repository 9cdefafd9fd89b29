import { expect, test } from 'vitest';
import { createFinder, filesByProject } from '../support/projects.ts';
import { sources } from './sources.ts';

const { virtual, real, night, long } = filesByProject();

/** Rooms that decide: all of their tests are in virtual time. */
const DECIDES = /^test\/(config|domain|machines|model|settings|wire)\//;
const EXCEPT = [
  'test/config/refused.test.ts', // makes a pipe
  'test/machines/scale.test.ts', // measures the time of many machines
];

test('puts every test file into one project', () => {
  const all = sources('test/**/*.test.ts').map(({ path }) => path);
  expect([...virtual, ...real, ...night, ...long].toSorted()).toEqual(all);
  for (const files of [virtual, real, night]) expect(files.length).toBeGreaterThan(20);
});

test('runs tests of decisions in virtual time', () => {
  const wayOf = createFinder((path) => texts.get(path) ?? null);
  const texts = new Map(sources('test/**/*.{ts,mjs}').map(({ path, text }) => [path, text]));
  const ways = [...texts.keys()]
    .filter((path) => DECIDES.test(path) && path.endsWith('.test.ts') && !EXCEPT.includes(path))
    .map((path) => wayOf(path)?.join(' → '));
  expect(ways.filter(Boolean)).toEqual([]);
});

/** The import path of the first file. */
const wayIn = (texts: Readonly<Record<string, string>>) =>
  createFinder((path) => texts[path] ?? null)('test/a/a.test.ts');
const found = (text: string) => wayIn({ 'test/a/a.test.ts': text });

test.each([
  "import { isIP, connect } from 'node:net';",
  "import net from 'node:net';",
  "import 'node:http2';",
  "export { spawn } from 'node:child_process';",
  "const { Client } = await import('ssh2');",
  "import {\n  type Pool,\n  Client,\n} from 'pg';",
  "import { systemClock } from '../../src/adapters/clock/system-clock.ts';",
  'await fetch(url);',
  'await vi.waitFor(() => x, PATIENCE);',
])('counts a file with %s as outside virtual time', (text) => {
  expect(found(text)).toEqual(['test/a/a.test.ts', expect.any(String)]);
});

test.each([
  "import { isIP } from 'node:net';",
  "import type { Socket } from 'node:net';",
  "type Text = typeof import('pg');",
  'clock.setTimeout(done, 5);',
  '  setTimeout(timer: () => void, delayMs: number): number {',
  "import { systemRandom } from '../../src/adapters/clock/system-clock.ts';",
])('counts a file with %s as in virtual time', (text) => {
  expect(found(text)).toBeNull();
});

test('shows the import path to the outside world, file by file', () => {
  const files = {
    'test/a/a.test.ts': "import { b } from './b.ts';\nimport { c } from '../c.ts';",
    'test/a/b.ts': "import { b } from './b.ts';\nimport type { C } from '../c.ts';",
    'test/c.ts': "export * from './a/d.ts';",
    'test/a/d.ts': "import pg from 'pg';",
  };
  expect(wayIn(files)).toEqual([...Object.keys(files).filter((path) => !/b\.ts/.test(path)), 'pg']);
});
