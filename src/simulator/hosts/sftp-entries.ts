import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Attributes } from 'ssh2';

/** Owners are not played: everything on a machine belongs to root. */
export const attributes = (stats: Stats): Attributes => ({
  mode: stats.mode,
  uid: 0,
  gid: 0,
  size: stats.size,
  atime: Math.floor(stats.atimeMs / 1_000),
  mtime: Math.floor(stats.mtimeMs / 1_000),
});

/** A path without attributes, as REALPATH answers it. */
export const nameOnly = (filename: string) => ({
  filename,
  longname: filename,
  attrs: {} as Attributes,
});

/** One line of a directory. `..` of the root is the root itself. */
export async function describeEntry(root: string, directory: string, filename: string) {
  const path = posix.join(directory, filename);
  const stats = await lstat(path.startsWith(root) ? path : root);
  return { filename, longname: longName(filename, stats), attrs: attributes(stats) };
}

/** As `ls -l` would print it, for people at an SFTP prompt. */
function longName(filename: string, stats: Stats): string {
  const kind = stats.isDirectory() ? 'd' : '-';
  const bits = Array.from('rwxrwxrwx', (bit, at) => ((stats.mode >> (8 - at)) & 1 ? bit : '-'));
  return `${kind}${bits.join('')} 1 root root ${stats.size} Jan  1 00:00 ${filename}`;
}
