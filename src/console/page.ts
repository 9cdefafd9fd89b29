import { findPackageJSON } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../adapters/log/port.ts';
import { existsSync, readFileSync } from 'node:fs';
import { freshnessOf, PAGE_FOLDER, readManifest, type Freshness } from './page/freshness.ts';

const ROOT = dirname(findPackageJSON(import.meta.url)!);

/** Addresses drawn by the page itself. All of them serve the same document. */
const ADDRESSES = [
  '/',
  '/machines',
  '/machines/*',
  '/providers',
  '/providers/*',
  '/guard',
  '/plan',
  '/cases',
  '/cases/*',
  '/daemons',
  '/audit',
  '/balancers',
  '/settings',
  '/device',
  '/inspector',
];

const NOT_BUILT =
  'The page of this console is not built. In a checkout, run npm ci && npm run build:page. ' +
  'The API works without the page, at /api/v1.\n';
const STALE = 'the page was built from other sources than the present ones: run npm run build:page';

export interface PageDeps {
  readonly log: Log;
  /** The program's version, as in its `package.json`. */
  readonly version: string;
  /** Folder that contains `dist/page`. */
  readonly root?: string;
}

/**
 * Serves the page from memory: its document at every address that it draws, its hashed files with
 * unlimited caching. If the page was not built, its addresses say so.
 */
export function addPage(app: FastifyInstance, { log, version, root = ROOT }: PageDeps): void {
  const { freshness, files } = readBuiltPage(root);
  if (freshness === 'stale') log.warn({}, STALE);
  const document = files.get('index.html');
  if (document === undefined) {
    log.warn({}, 'the page is not built: run npm run build:page; the API works without it');
    for (const address of ADDRESSES) app.get(address, notBuilt);
    return;
  }
  const stale = freshness === 'stale' ? { 'shepherd-page': 'stale' } : {};
  const marked = mark(document, { 'shepherd-version': version, ...stale });
  for (const address of ADDRESSES) {
    app.get(address, (request, reply) => send(request, reply, marked));
  }
  for (const [name, file] of files) {
    if (name === 'index.html') continue;
    app.get(`/${name}`, (request, reply) => {
      if (name.startsWith('assets/')) {
        reply.header('cache-control', 'public, max-age=31536000, immutable');
      }
      return send(request, reply, file);
    });
  }
}

const notBuilt = (_request: FastifyRequest, reply: FastifyReply) =>
  reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT);

/** Marks the document, so that the page can show its own freshness. */
function mark(document: PageFile, told: Readonly<Record<string, string>>): PageFile {
  const marks = Object.entries(told).map(
    ([name, text]) => `<meta name="${name}" content="${text}" />`,
  );
  const text = document.body.toString('utf8').replace('</head>', `${marks.join('')}</head>`);
  const body = Buffer.from(text);
  return { ...document, body, brotli: document.brotli && brotliCompressSync(body) };
}

function send(request: FastifyRequest, reply: FastifyReply, { type, body, brotli }: PageFile) {
  reply.type(type).header('vary', 'accept-encoding');
  const accepted = String(request.headers['accept-encoding'] ?? '');
  if (brotli === null || !/\bbr\b/.test(accepted)) return reply.send(body);
  return reply.header('content-encoding', 'br').send(brotli);
}

/** A file of the page as sent. */
interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Compressed by Brotli; null: not worth it. */
  readonly brotli: Buffer | null;
}
interface BuiltPage {
  readonly freshness: Freshness;
  /** By path in the page's folder, such as `assets/index-3f9a.js`. Empty if there is no page. */
  readonly files: ReadonlyMap<string, PageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the whole page built beneath `root` into memory. */
function readBuiltPage(root: string): BuiltPage {
  const folder = join(root, PAGE_FOLDER);
  const names = readManifest(root)?.files ?? [];
  const files = new Map(names.map((name) => [name, readPageFile(join(folder, name))]));
  return { freshness: freshnessOf(root), files };
}

function readPageFile(path: string): PageFile {
  const compressed = `${path}.br`;
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    body: readFileSync(path),
    brotli: existsSync(compressed) ? readFileSync(compressed) : null,
  };
}
