import { constants, type Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import ssh2 from 'ssh2';
import type { Attributes, SFTPWrapper } from 'ssh2';
import { containedPath, insidePath } from './paths.ts';

const { STATUS_CODE, OPEN_MODE } = ssh2.utils.sftp;
const readBytesMax = 256 * 1024;
const entriesPerAnswer = 100;

/** What the requests of one channel share. */
interface Serving {
  readonly sftp: SFTPWrapper;
  readonly root: string;
  readonly handles: Handles;
  /** From a path of the machine to one of the real disk. */
  at(path: string): Promise<string>;
  /** Runs one request that sends its own answer, or returns a status to send. */
  reply(id: number, work: () => Promise<number | undefined | void>): void;
  /** Runs one request that is answered with OK. */
  done(id: number, work: () => Promise<unknown>): void;
}

/** An SFTP (version 3) server for one channel, with OpenSSH's posix-rename. Serves only `root`. */
export function serveSftp(sftp: SFTPWrapper, root: string): void {
  const handles = createHandles();
  const reply: Serving['reply'] = (id, work) => {
    work().then(
      (status) => {
        if (status !== undefined) sftp.status(id, status);
      },
      (error: NodeJS.ErrnoException) => sftp.status(id, statusOf(error), error.code ?? 'EIO'),
    );
  };
  const done: Serving['done'] = (id, work) =>
    reply(id, async () => {
      await work();
      return STATUS_CODE.OK;
    });
  const serving = {
    sftp,
    root,
    handles,
    reply,
    done,
    at: (path: string) => containedPath(root, path),
  };
  offerPosixRename(sftp);
  serveContents(serving);
  serveAttributes(serving);
  serveDirectories(serving);
  serveNames(serving);
  sftp.on('end', () => {
    void handles.closeAll();
    // OpenSSH's client waits for this end of the channel too.
    sftp.end();
  });
  sftp.on('error', () => void handles.closeAll());
}

function serveContents({ sftp, handles, at, reply, done }: Serving): void {
  sftp.on('OPEN', (id, path, flags, { mode }) =>
    reply(id, async () => {
      const file = await fs.open(await at(path), nodeFlags(flags), mode ?? 0o644);
      const append = (flags & OPEN_MODE.APPEND) > 0;
      sftp.handle(id, await handles.add({ kind: 'file', file, append }));
    }),
  );
  sftp.on('READ', (id, handle, offset, length) =>
    reply(id, async () => {
      const buffer = Buffer.alloc(Math.min(length, readBytesMax));
      const { bytesRead } = await handles.file(handle).file.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0) return STATUS_CODE.EOF;
      sftp.data(id, buffer.subarray(0, bytesRead));
      return undefined;
    }),
  );
  sftp.on('WRITE', (id, handle, offset, data) =>
    done(id, async () => {
      const { file, append } = handles.file(handle);
      await file.write(data, 0, data.length, append ? null : offset);
    }),
  );
  sftp.on('CLOSE', (id, handle) => done(id, async () => handles.close(handle)));
}

function serveAttributes({ sftp, handles, at, reply, done }: Serving): void {
  sftp.on('FSTAT', (id, handle) =>
    reply(id, async () => sftp.attrs(id, attributes(await handles.file(handle).file.stat()))),
  );
  sftp.on('STAT', (id, path) =>
    reply(id, async () => sftp.attrs(id, attributes(await fs.stat(await at(path))))),
  );
  sftp.on('LSTAT', (id, path) =>
    reply(id, async () => sftp.attrs(id, attributes(await fs.lstat(await at(path))))),
  );
  sftp.on('SETSTAT', (id, path, wanted) =>
    done(id, async () => {
      const target = await at(path);
      await change(wanted, {
        chmod: (mode) => fs.chmod(target, mode),
        truncate: (sizeBytes) => fs.truncate(target, sizeBytes),
        utimes: (accessed, modified) => fs.utimes(target, accessed, modified),
      });
    }),
  );
  sftp.on('FSETSTAT', (id, handle, wanted) =>
    done(id, async () => change(wanted, handles.file(handle).file)),
  );
}

function serveDirectories({ sftp, root, handles, at, reply, done }: Serving): void {
  sftp.on('OPENDIR', (id, path) =>
    reply(id, async () => {
      const directory = await at(path);
      const names = ['.', '..', ...(await fs.readdir(directory))];
      sftp.handle(id, await handles.add({ kind: 'directory', names, path: directory }));
    }),
  );
  sftp.on('READDIR', (id, handle) =>
    reply(id, async () => {
      const { names, path } = handles.directory(handle);
      const batch = names.splice(0, entriesPerAnswer);
      if (batch.length === 0) return STATUS_CODE.EOF;
      sftp.name(id, await Promise.all(batch.map((name) => describeEntry(root, path, name))));
      return undefined;
    }),
  );
  sftp.on('MKDIR', (id, path, { mode }) =>
    done(id, async () => fs.mkdir(await at(path), { mode: mode ?? 0o755 })),
  );
  sftp.on('RMDIR', (id, path) => done(id, async () => fs.rmdir(await at(path))));
}

function serveNames({ sftp, at, reply, done }: Serving): void {
  sftp.on('REALPATH', (id, path) =>
    reply(id, async () => sftp.name(id, [nameOnly(insidePath(path))])),
  );
  sftp.on('REMOVE', (id, path) => done(id, async () => fs.unlink(await at(path))));
  // Version 3 does not replace; link fails when the name is taken, which a rename would not.
  sftp.on('RENAME', (id, from, to) =>
    done(id, async () => {
      const source = await at(from);
      if ((await fs.stat(source)).isDirectory()) return fs.rename(source, await at(to));
      await fs.link(source, await at(to));
      return fs.unlink(source);
    }),
  );
  sftp.on('EXTENDED', (id, name, data) => {
    if (name !== posixRename) return sftp.status(id, STATUS_CODE.OP_UNSUPPORTED);
    return done(id, async () => {
      const [from = '', to = ''] = readStrings(data);
      await fs.rename(await at(from), await at(to));
    });
  });
}

const statuses: Readonly<Record<string, number>> = {
  ENOENT: STATUS_CODE.NO_SUCH_FILE,
  ENOTDIR: STATUS_CODE.NO_SUCH_FILE,
  EACCES: STATUS_CODE.PERMISSION_DENIED,
  EPERM: STATUS_CODE.PERMISSION_DENIED,
};
const statusOf = ({ code = '' }: NodeJS.ErrnoException) => statuses[code] ?? STATUS_CODE.FAILURE;

function nodeFlags(flags: number): number {
  const given = (bit: number, meaning: number) => ((flags & bit) > 0 ? meaning : 0);
  const writes = (flags & OPEN_MODE.WRITE) > 0;
  const reads = (flags & OPEN_MODE.READ) > 0;
  return (
    (writes ? (reads ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY) |
    given(OPEN_MODE.APPEND, constants.O_APPEND) |
    given(OPEN_MODE.CREAT, constants.O_CREAT) |
    given(OPEN_MODE.TRUNC, constants.O_TRUNC) |
    given(OPEN_MODE.EXCL, constants.O_EXCL)
  );
}

async function change(
  { mode, size, atime, mtime }: Partial<Attributes>,
  target: Pick<FileHandle, 'chmod' | 'truncate' | 'utimes'>,
): Promise<void> {
  if (mode !== undefined) await target.chmod(mode & 0o7777);
  if (size !== undefined) await target.truncate(size);
  if (atime !== undefined && mtime !== undefined) await target.utimes(atime, mtime);
}

/** Owners are not played: everything on a machine belongs to root. */
const attributes = (stats: Stats): Attributes => ({
  mode: stats.mode,
  uid: 0,
  gid: 0,
  size: stats.size,
  atime: Math.floor(stats.atimeMs / 1_000),
  mtime: Math.floor(stats.mtimeMs / 1_000),
});

/** A path without attributes, as REALPATH answers it. */
const nameOnly = (filename: string) => ({ filename, longname: filename, attrs: {} as Attributes });

/** One line of a directory. `..` of the root is the root itself. */
async function describeEntry(root: string, directory: string, filename: string) {
  const path = posix.join(directory, filename);
  const stats = await fs.lstat(path.startsWith(root) ? path : root);
  return { filename, longname: longName(filename, stats), attrs: attributes(stats) };
}

/** As `ls -l` would print it, for people at an SFTP prompt. */
function longName(filename: string, stats: Stats): string {
  const kind = stats.isDirectory() ? 'd' : '-';
  const bits = Array.from('rwxrwxrwx', (bit, at) => ((stats.mode >> (8 - at)) & 1 ? bit : '-'));
  return `${kind}${bits.join('')} 1 root root ${stats.size} Jan  1 00:00 ${filename}`;
}

/** OpenSSH's rename that replaces its target (OpenSSH, PROTOCOL §4.3). */
const posixRename = 'posix-rename@openssh.com';

/** The strings that an extended request carries, one after another. */
function readStrings(data: Buffer): string[] {
  const strings: string[] = [];
  for (let at = 0; at + 4 <= data.length;) {
    const end = at + 4 + data.readUInt32BE(at);
    strings.push(data.toString('utf8', at + 4, end));
    at = end;
  }
  return strings;
}

const withLength = (bytes: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const field = (text: string) => withLength(Buffer.from(text));
/** SSH_FXP_VERSION 3 that names the extension. */
const versionAnswer = () =>
  withLength(Buffer.concat([Buffer.from([2, 0, 0, 0, 3]), field(posixRename), field('1')]));

/** The part of ssh2's inside that sends the packets of a channel. */
interface Wire {
  channelData(channel: number, data: Buffer): void;
}

/**
 * ssh2's server answers INIT with a constant that offers no extension (SERVER_VERSION_BUFFER in its
 * SFTP.js), and clients use only what was offered. So the first packet it sends is replaced.
 */
function offerPosixRename(sftp: SFTPWrapper): void {
  const inner = sftp as unknown as { _protocol: Wire };
  const wire = inner._protocol;
  const replacing = Object.create(wire) as Wire;
  replacing.channelData = (channel) => {
    inner._protocol = wire;
    wire.channelData(channel, versionAnswer());
  };
  inner._protocol = replacing;
}

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
