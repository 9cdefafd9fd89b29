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
/** Sources, and a page that was built from them as they are now. */
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
/** The page as it is served, and what the log was told. */
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
])('a page is stale after %s, and says so itself and in the log', async (_what, path) => {
  build();
  expect(freshnessOf(root)).toBe('fresh');
  write(path, 'second');
  expect(freshnessOf(root)).toBe('stale');
  const { get, warnings } = await serve();
  expect((await get('/')).body).toContain('<meta name="shepherd-page" content="stale" />');
  expect(warnings).toEqual([expect.stringContaining('npm run build:page')]);
});

test('a page that is published without its sources is taken as it is, and says of which version it is', async () => {
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

test('where no page was built, its addresses say what builds it', async () => {
  const { get, warnings } = await serve();
  const answer = await get('/');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([
    503,
    'text/plain; charset=utf-8',
  ]);
  expect(answer.body).toContain('npm run build:page');
  expect(warnings).toEqual([expect.stringContaining('not built')]);
});

test('V33: hashed files are kept for ever, and go out compressed to whoever takes it', async () => {
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
