import type { FileHandle } from 'node:fs/promises';

export interface OpenFile {
  readonly kind: 'file';
  readonly file: FileHandle;
  readonly append: boolean;
}

export interface OpenDirectory {
  readonly kind: 'directory';
  /** What was not yet told. */
  readonly names: string[];
  readonly path: string;
}

/** What one SFTP channel has open. Every lookup throws EBADF for a handle that is not. */
export interface Handles {
  /** After `closeAll` it closes what comes late, and throws EBADF. */
  add(entry: OpenFile | OpenDirectory): Promise<Buffer>;
  file(handle: Buffer): OpenFile;
  directory(handle: Buffer): OpenDirectory;
  close(handle: Buffer): Promise<void>;
  closeAll(): Promise<void>;
}

const handleBytes = 4;
const badHandle = () => Object.assign(new Error('no such handle'), { code: 'EBADF' });

/** Starts with nothing open. */
export function createHandles(): Handles {
  const open = new Map<number, OpenFile | OpenDirectory>();
  let last = 0;
  let ended = false;
  const find = (handle: Buffer) => {
    const found = handle.length === handleBytes ? open.get(handle.readUInt32BE()) : undefined;
    if (!found) throw badHandle();
    return found;
  };
  return {
    async add(entry) {
      if (ended) {
        if (entry.kind === 'file') await entry.file.close();
        throw badHandle();
      }
      open.set(++last, entry);
      const handle = Buffer.alloc(handleBytes);
      handle.writeUInt32BE(last);
      return handle;
    },
    file(handle) {
      const found = find(handle);
      if (found.kind !== 'file') throw badHandle();
      return found;
    },
    directory(handle) {
      const found = find(handle);
      if (found.kind !== 'directory') throw badHandle();
      return found;
    },
    async close(handle) {
      const found = find(handle);
      open.delete(handle.readUInt32BE());
      if (found.kind === 'file') await found.file.close();
    },
    async closeAll() {
      ended = true;
      const files = [...open.values()].filter((entry) => entry.kind === 'file');
      open.clear();
      await Promise.allSettled(files.map(({ file }) => file.close()));
    },
  };
}
