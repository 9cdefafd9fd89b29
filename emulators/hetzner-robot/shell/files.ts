import { posix } from 'node:path';

export interface Directory {
  readonly kind: 'directory';
  readonly entries: Map<string, FileNode>;
  mode: number;
}
export interface RegularFile {
  readonly kind: 'file';
  /** One character for each byte. */
  content: string;
  mode: number;
}
export interface Link {
  readonly kind: 'link';
  readonly target: string;
}
/** A device: nothing is read from it, and what is written to it is gone. */
export interface Device {
  readonly kind: 'device';
  mode: number;
}
export type FileNode = Directory | RegularFile | Link | Device;

/** What a system call would have refused. */
export class FileError extends Error {}

/** A tree of files in memory. All paths are absolute; those that are not count from `/`. */
export interface Files {
  /** Follows links; undefined: nothing is there. */
  find(path: string): FileNode | undefined;
  /** The same, but for a link at the end. */
  findItself(path: string): FileNode | undefined;
  /** @throws {FileError} there is no such file, or it is a directory. */
  read(path: string): string;
  /** Makes the file, not its directory. @throws {FileError} */
  write(path: string, content: string, mode?: number): void;
  /** @throws {FileError} */
  append(path: string, content: string, mode?: number): void;
  /** With those above it. @throws {FileError} there is a file. */
  makeDirectory(path: string, mode?: number): void;
  /** One only. @throws {FileError} something is there, or the directory above is not. */
  makeOne(path: string, mode?: number): void;
  put(path: string, node: FileNode): void;
  /** With all that is below. Answers whether there was something. */
  remove(path: string): boolean;
  /** Sorted. @throws {FileError} it is no directory. */
  list(path: string): readonly string[];
  /** Without links. @throws {FileError} something on the way is missing. */
  realPath(path: string): string;
}

const LINKS_MAX = 20;
const PLAIN_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

const fail = (path: string, why: string): never => {
  throw new FileError(`${path}: ${why}`);
};

export function createFiles(): Files {
  const root: Directory = { kind: 'directory', entries: new Map(), mode: DIRECTORY_MODE };

  /** The real path, whose last part need not exist. */
  function resolve(path: string, followsLast: boolean, depth = 0): string {
    if (depth > LINKS_MAX) return fail(path, 'Too many levels of symbolic links');
    const parts = posix.resolve('/', path).split('/').filter(Boolean);
    let at = '/';
    for (const [n, part] of parts.entries()) {
      const next = posix.join(at, part);
      const node = nodeAt(next);
      if (node?.kind === 'link' && (followsLast || n < parts.length - 1)) {
        const rest = parts.slice(n + 1).join('/');
        return resolve(posix.join(posix.resolve(at, node.target), rest), followsLast, depth + 1);
      }
      at = next;
    }
    return at;
  }
  /** Without links. */
  function nodeAt(path: string): FileNode | undefined {
    let node: FileNode | undefined = root;
    for (const part of path.split('/').filter(Boolean)) {
      node = node?.kind === 'directory' ? node.entries.get(part) : undefined;
    }
    return node;
  }
  function parentOf(path: string): Directory {
    const node = nodeAt(posix.dirname(path));
    if (!node) return fail(path, 'No such file or directory');
    return node.kind === 'directory' ? node : fail(path, 'Not a directory');
  }
  function open(path: string, mode: number): RegularFile | Device {
    const real = resolve(path, true);
    const node = nodeAt(real);
    if (node?.kind === 'directory') return fail(path, 'Is a directory');
    if (node?.kind === 'file' || node?.kind === 'device') return node;
    const made: RegularFile = { kind: 'file', content: '', mode };
    parentOf(real).entries.set(posix.basename(real), made);
    return made;
  }
  const files: Files = {
    find: (path) => nodeAt(resolve(path, true)),
    findItself: (path) => nodeAt(resolve(path, false)),
    read(path) {
      const node = files.find(path);
      if (!node) return fail(path, 'No such file or directory');
      if (node.kind === 'directory') return fail(path, 'Is a directory');
      return node.kind === 'file' ? node.content : '';
    },
    write(path, content, mode = PLAIN_MODE) {
      const node = open(path, mode);
      if (node.kind === 'file') node.content = content;
    },
    append(path, content, mode = PLAIN_MODE) {
      const node = open(path, mode);
      if (node.kind === 'file') node.content += content;
    },
    makeDirectory(path, mode = DIRECTORY_MODE) {
      let at = '/';
      for (const part of resolve(path, true).split('/').filter(Boolean)) {
        at = posix.join(at, part);
        if (!nodeAt(at)) files.makeOne(at, mode);
      }
      if (nodeAt(resolve(path, true))?.kind !== 'directory') fail(path, 'File exists');
    },
    makeOne(path, mode = DIRECTORY_MODE) {
      const real = resolve(path, false);
      if (nodeAt(real)) fail(path, 'File exists');
      const made: Directory = { kind: 'directory', entries: new Map(), mode };
      parentOf(real).entries.set(posix.basename(real), made);
    },
    put(path, node) {
      const real = resolve(path, false);
      parentOf(real).entries.set(posix.basename(real), node);
    },
    remove(path) {
      const real = resolve(path, false);
      const above = nodeAt(posix.dirname(real));
      return above?.kind === 'directory' && above.entries.delete(posix.basename(real));
    },
    list(path) {
      const node = files.find(path);
      if (!node) return fail(path, 'No such file or directory');
      return node.kind === 'directory'
        ? [...node.entries.keys()].toSorted()
        : fail(path, 'Not a directory');
    },
    realPath(path) {
      const real = resolve(path, true);
      return nodeAt(real) ? real : fail(path, 'No such file or directory');
    },
  };
  return files;
}
