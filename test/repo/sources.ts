import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One file of the repository; its path is relative to the root, with slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Files that match the patterns. */
export function sources(...patterns: string[]): Source[] {
  return globSync(patterns, { cwd: root })
    .map((path) => relative(root, join(root, path)).replaceAll('\\', '/'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Line number of an offset, from 1. */
export const lineOf = (text: string, offset: number): number =>
  text.slice(0, offset).split('\n').length;
