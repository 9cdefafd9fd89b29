import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the page is built, beneath the project's root. */
export const PAGE_FOLDER = 'dist/page';
export const MANIFEST_FILE = 'manifest.json';

/** Metadata of a built page. */
export interface PageManifest {
  /** Hash of all its sources: `inputsHash`. */
  readonly hash: string;
  /** Modules shared with the daemon, as paths from the root. */
  readonly shared: readonly string[];
  /** Files of the page, as paths from its folder; names under `assets/` carry a hash. */
  readonly files: readonly string[];
}

/** How the built page compares with the sources beside it. */
export type Freshness = 'fresh' | 'stale' | 'absent';

/**
 * A hash of the page's sources: everything in `web/`, the shared modules, and the lock file, which
 * names the libraries. Null if the sources are absent, as in a published package.
 */
export function inputsHash(root: string, shared: readonly string[]): string | null {
  const own = globSync('web/**/*.*', { cwd: root });
  if (own.length === 0) return null;
  const hash = createHash('sha256');
  for (const path of [...own, ...shared, 'package-lock.json', 'scripts/build-page.ts'].toSorted()) {
    hash
      .update(`${path}\0`)
      .update(contentOf(join(root, path)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** A missing file differs from any content. */
function contentOf(path: string): Buffer | string {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
}

/** The manifest of the built page; null: none. */
export function readManifest(root: string): PageManifest | null {
  const path = join(root, PAGE_FOLDER, MANIFEST_FILE);
  const text = contentOf(path).toString();
  return text === 'absent' ? null : (JSON.parse(text) as PageManifest);
}

/** Whether the page was built from the sources here. Without sources the page counts as fresh. */
export function freshnessOf(root: string): Freshness {
  const manifest = readManifest(root);
  if (manifest === null) return 'absent';
  const now = inputsHash(root, manifest.shared);
  return now === null || now === manifest.hash ? 'fresh' : 'stale';
}
