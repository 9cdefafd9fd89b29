import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the page is built, beneath the root of the project. */
export const PAGE_FOLDER = 'dist/page';
export const MANIFEST_FILE = 'manifest.json';

/** What a built page knows of itself. */
export interface PageManifest {
  /** Of all that it was built from: `inputsHash`. */
  readonly hash: string;
  /** Modules of the daemon that are in the page too, as paths from the root. */
  readonly shared: readonly string[];
  /** Files of the page, as paths from its folder; those under `assets/` carry a hash in their name. */
  readonly files: readonly string[];
}

/** How the page that lies there stands to the sources that lie beside it. */
export type Freshness = 'fresh' | 'stale' | 'absent';

/**
 * A hash of what a page is built from: everything in `web/`, the shared modules, and the lock file,
 * which names the libraries. Null where the sources are not there, as in a published package.
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

/** A file that is gone is another content than any. */
function contentOf(path: string): Buffer | string {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
}

/** The manifest of the page that was built; null: there is none. */
export function readManifest(root: string): PageManifest | null {
  const path = join(root, PAGE_FOLDER, MANIFEST_FILE);
  const text = contentOf(path).toString();
  return text === 'absent' ? null : (JSON.parse(text) as PageManifest);
}

/** Whether the built page is of the sources that are here. Without sources it is taken as it is. */
export function freshnessOf(root: string): Freshness {
  const manifest = readManifest(root);
  if (manifest === null) return 'absent';
  const now = inputsHash(root, manifest.shared);
  return now === null || now === manifest.hash ? 'fresh' : 'stale';
}
