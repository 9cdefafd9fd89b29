import { posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { createFinder, filesByProject, readingOf } from '../support/projects.ts';
import { sources } from './sources.ts';

const { virtual, real, night } = filesByProject();

/** Rooms that decide: all of their tests are in virtual time. */
const DECIDES = /^test\/(config|domain|machines|model|settings|wire)\//;
const EXCEPT = [
  'test/config/config.test.ts', // makes a pipe
  'test/machines/scale.test.ts', // tells how long many machines take
];

test('every test file is in one project', () => {
  const all = sources('test/**/*.test.ts').map(({ path }) => path);
  expect([...virtual, ...real, ...night].toSorted()).toEqual(all);
  for (const files of [virtual, real, night]) expect(files.length).toBeGreaterThan(20);
});

test('tests of what decides are in virtual time', () => {
  const wayOf = createFinder((path) => texts.get(path) ?? null);
  const texts = new Map(sources('test/**/*.{ts,mjs}').map(({ path, text }) => [path, text]));
  const ways = [...texts.keys()]
    .filter((path) => DECIDES.test(path) && path.endsWith('.test.ts') && !EXCEPT.includes(path))
    .map((path) => wayOf(path)?.join(' → '));
  expect(ways.filter(Boolean)).toEqual([]);
});

/** The way of the first file. */
const wayIn = (texts: Readonly<Record<string, string>>) =>
  createFinder((path) => texts[path] ?? null)('test/a/a.test.ts');
const found = (text: string) => wayIn({ 'test/a/a.test.ts': text });

test.each([
  "import { createServer } from 'node:net';",
  "import { isIP, connect } from 'node:net';",
  "import net from 'node:net';",
  "import * as http from 'node:http';",
  "import 'node:http2';",
  "export { spawn } from 'node:child_process';",
  "import { setTimeout as pause } from 'node:timers/promises';",
  "const { Client } = await import('ssh2');",
  "import {\n  type Pool,\n  Client,\n} from 'pg';",
  "import { systemClock } from '../../src/adapters/clock/system-clock.ts';",
  'await fetch(url);',
  'setTimeout(done, 5);',
  'const at = performance.now();',
  'await vi.waitFor(() => x, PATIENCE);',
  'await expect.poll(() => x).toBe(1);',
])('a file with %s is not in virtual time', (text) => {
  expect(found(text)).toEqual(['test/a/a.test.ts', expect.any(String)]);
});

test.each([
  "import { isIP } from 'node:net';",
  "import type { Socket } from 'node:net';",
  "import { type Pool } from 'pg';",
  "type Text = import('pg').Pool;",
  "type Text = typeof import('pg');",
  "import { constants } from 'node:http2';",
  "import { createFleetProvider } from '../../src/adapters/driver-kit/fleet-provider.ts';",
  'clock.setTimeout(done, 5);',
  'const today = Date.now();',
  '  setTimeout(timer: () => void, delayMs: number): number {',
  '  fetch(url: string): Promise<Response>;',
  "import { systemRandom } from '../../src/adapters/clock/system-clock.ts';",
])('a file with %s is in virtual time', (text) => {
  expect(found(text)).toBeNull();
});

test('the way to the world is told, file by file', () => {
  const files = {
    'test/a/a.test.ts': "import { b } from './b.ts';\nimport { c } from '../c.ts';",
    'test/a/b.ts': "import { b } from './b.ts';\nimport type { C } from '../c.ts';",
    'test/c.ts': "export * from './a/d.ts';",
    'test/a/d.ts': "import pg from 'pg';",
  };
  expect(wayIn(files)).toEqual([...Object.keys(files).filter((path) => !/b\.ts/.test(path)), 'pg']);
});

/** Imports of values, as the parser finds them. */
function importsOf(path: string, text: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module;
  const found = staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  for (const { entries } of staticExports) {
    for (const { moduleRequest, isType } of entries) {
      if (moduleRequest && !isType) found.push(moduleRequest.value);
    }
  }
  for (const { moduleRequest } of dynamicImports) {
    const [, named] = /^'(.*)'$/.exec(text.slice(moduleRequest.start, moduleRequest.end)) ?? [];
    if (named !== undefined) found.push(named);
  }
  return found;
}

test('imports, which are found in the text for speed, are those that the parser finds', () => {
  const missed = sources('test/**/*.ts').flatMap(({ path, text }) => {
    const { imports } = readingOf(path, text);
    return importsOf(path, text)
      .map((from) => posix.join(posix.dirname(path), from))
      .filter((target) => /^test\/.*\.(ts|mjs)$/.test(target) && !imports.includes(target))
      .map((target) => `${path} imports ${target}`);
  });
  expect(missed).toEqual([]);
});
