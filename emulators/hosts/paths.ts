import { readlink, realpath } from 'node:fs/promises';
import { posix } from 'node:path';

/** The machine's directory for commands and relative paths. */
export const homeDirectory = '/root';

/** The machine's absolute form of `path`, without `..`, which stops at `/`. */
export const insidePath = (path: string) => posix.resolve(homeDirectory, path.replaceAll('\0', ''));

/** Its path on the real disk, by name only. */
export const outsidePath = (root: string, path: string) => posix.join(root, insidePath(path));

/**
 * The same, but refuses symbolic links that lead out of the root. The last parts of the path need
 * not exist.
 * @throws {Error} EACCES.
 */
export async function containedPath(root: string, path: string): Promise<string> {
  const outside = outsidePath(root, path);
  const trueRoot = await realpath(root);
  for (let at = outside; at !== root; at = posix.dirname(at)) {
    const real = await followed(at);
    if (real === undefined) continue;
    if (real === trueRoot || real.startsWith(`${trueRoot}/`)) break;
    throw Object.assign(new Error(`${path} leads out of the machine`), { code: 'EACCES' });
  }
  return outside;
}

/** Absent: nothing exists there. A dangling link leads out, because a write would follow it. */
async function followed(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? undefined : '/';
  }
}
