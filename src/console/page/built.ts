import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { freshnessOf, PAGE_FOLDER, readManifest, type Freshness } from './freshness.ts';

/** A file of the page as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** The same by Brotli; null: not worth it. */
  readonly brotli: Buffer | null;
}
export interface BuiltPage {
  readonly freshness: Freshness;
  /** By path from the folder of the page, such as `assets/index-3f9a.js`. Empty when it is absent. */
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

/** Reads the page that was built beneath `root`, whole, into memory. */
export function readBuiltPage(root: string): BuiltPage {
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
