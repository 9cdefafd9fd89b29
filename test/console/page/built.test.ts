import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Fastify from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { addPage } from '../../../src/console/page.ts';
import { freshnessOf, inputsHash } from '../../../src/console/page/freshness.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'shepherd-page-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
/** Writes sources, and a page that was built from them. */
function build(): void {
  write('web/main.tsx', 'first');
  write('src/domain/states.ts', 'states');
  write('package-lock.json', '{}');
  const shared = ['src/domain/states.ts'];
  const files = ['index.html', 'assets/main-1a2b.js'];
  write('dist/page/index.html', '<html><head></head></html>');
  write('dist/page/assets/main-1a2b.js', 'run()');
  write('dist/page/assets/main-1a2b.js.br', 'compressed');
  write(
    'dist/page/manifest.json',
    JSON.stringify({ hash: inputsHash(root, shared), shared, files }),
  );
}
/** The served page, and the warnings in the log. */
async function serve() {
  const warnings: string[] = [];
  const warn = (_fields: object, message: string) => void warnings.push(message);
  const app = Fastify();
  addPage(app, { log: { ...silentLog, warn }, version: '1.2.3', root });
  const get = (url: string, headers = {}) => app.inject({ url, headers });
  return { get, warnings };
}

test.each([
  ['a source that changed', 'web/main.tsx'],
  ['a source that is new', 'web/pages/fleet.tsx'],
  ['a module of the daemon that is in the page', 'src/domain/states.ts'],
  ['libraries of other versions', 'package-lock.json'],
])('tells on the page and in the log that the page is stale after %s', async (_what, path) => {
  build();
  expect(freshnessOf(root)).toBe('fresh');
  write(path, 'second');
  expect(freshnessOf(root)).toBe('stale');
  const { get, warnings } = await serve();
  expect((await get('/')).body).toContain('<meta name="shepherd-page" content="stale" />');
  expect(warnings).toEqual([expect.stringContaining('npm run build:page')]);
});

test('accepts a published page without its sources, and names its version', async () => {
  build();
  rmSync(join(root, 'web'), { recursive: true });
  rmSync(join(root, 'src'), { recursive: true });
  expect(freshnessOf(root)).toBe('fresh');
  const { get, warnings } = await serve();
  expect((await get('/machines/equinix/a')).body).toBe(
    '<html><head><meta name="shepherd-version" content="1.2.3" /></head></html>',
  );
  expect(warnings).toEqual([]);
});

test('answers how to build the page if it is not built', async () => {
  const { get, warnings } = await serve();
  const answer = await get('/');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([
    503,
    'text/plain; charset=utf-8',
  ]);
  expect(answer.body).toContain('npm run build:page');
  expect(warnings).toEqual([expect.stringContaining('not built')]);
});

test('V33: lets browsers keep hashed files for ever, and sends them compressed to clients that accept it', async () => {
  build();
  const { get } = await serve();
  const plain = await get('/assets/main-1a2b.js');
  expect(plain.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'accept-encoding',
  });
  expect(plain.body).toBe('run()');
  const small = await get('/assets/main-1a2b.js', { 'accept-encoding': 'gzip, br' });
  expect(small.headers['content-encoding']).toBe('br');
  expect(small.body).toBe('compressed');
  expect((await get('/')).headers['cache-control']).toBeUndefined();
});
