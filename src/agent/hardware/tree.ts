import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A read-only view of a file tree such as `/`. Missing files are empty; other errors warn. */
export interface Tree {
  exists(path: string): boolean;
  /** Trimmed content; null: no file. */
  text(path: string): string | null;
  /** Unchanged content; null: no file. */
  bytes(path: string): Buffer | null;
  /** Content as a decimal number; null: none. */
  number(path: string): number | null;
  /** Names in a directory, sorted. */
  list(path: string): readonly string[];
  /** Target of a symbolic link, as written; null: no link. */
  link(path: string): string | null;
}

/** sysfs answers EINVAL if the hardware lacks a property. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'EINVAL', 'ENODEV', 'ENXIO', 'EOPNOTSUPP']);

export function createTree(root: string, warnings: string[]): Tree {
  const attempt = <Value>(path: string, absent: Value, read: (path: string) => Value): Value => {
    try {
      return read(join(root, path));
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (!ABSENT.has(code)) warnings.push(`${path}: ${code || message}`);
      return absent;
    }
  };
  // Some firmware pads texts with NUL.
  const text = (path: string) =>
    attempt(path, null, (full) => readFileSync(full, 'utf8').replaceAll('\0', '').trim());
  return {
    exists: (path) => existsSync(join(root, path)),
    text,
    bytes: (path) => attempt(path, null, (full) => readFileSync(full)),
    number(path) {
      const content = text(path);
      return content !== null && /^-?\d+$/.test(content) ? Number(content) : null;
    },
    list: (path) => attempt<string[]>(path, [], (full) => readdirSync(full).toSorted()),
    link: (path) => attempt(path, null, (full) => readlinkSync(full)),
  };
}
