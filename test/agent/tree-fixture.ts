import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A link instead of a file. */
export const linkTo = (target: string) => ({ target });

/** A binary file. */
export const bytesOf = (bytes: Uint8Array) => ({ bytes });

type Planted = string | { target: string } | { bytes: Uint8Array };

/** Writes files and links into a directory that replaces `/` until the test ends. */
export function plantTree(files: Readonly<Record<string, Planted>>): string {
  const root = mkdtempSync(join(tmpdir(), 'shepherd-tree-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    if (typeof content === 'string') writeFileSync(full, `${content}\n`);
    else if ('bytes' in content) writeFileSync(full, content.bytes);
    else symlinkSync(content.target, full);
  }
  return root;
}

/** One processor of `/proc/cpuinfo`. */
export const processor = (number: number, core: number, more: Record<string, unknown>) =>
  Object.entries({ processor: number, 'core id': core, ...more })
    .map(([name, value]) => `${name.padEnd(15)}\t: ${String(value)}`)
    .join('\n');
