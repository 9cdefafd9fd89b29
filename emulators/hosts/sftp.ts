import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import ssh2 from 'ssh2';
import type { SFTPWrapper } from 'ssh2';
import { containedPath } from './paths.ts';

const { STATUS_CODE, OPEN_MODE } = ssh2.utils.sftp;

/**
 * Serves the part of SFTP (version 3) that an upload needs: open, write and close of files below
 * `root`. ssh2 answers all other requests with "unsupported".
 */
export function serveSftp(sftp: SFTPWrapper, root: string): void {
  const files = new Map<number, FileHandle>();
  let last = 0;
  let isOver = false;
  const fileOf = (handle: Buffer): FileHandle => {
    const file = handle.length === HANDLE_BYTES ? files.get(handle.readUInt32BE()) : undefined;
    if (!file) throw new Error('no such handle');
    return file;
  };
  /** Runs one request, and answers with its status unless the request has answered itself. */
  const reply = (id: number, work: () => Promise<'answered' | 'done'>) => {
    work().then(
      (end) => end === 'done' && sftp.status(id, STATUS_CODE.OK),
      (error: NodeJS.ErrnoException) => sftp.status(id, statusOf(error), error.code ?? 'EIO'),
    );
  };
  sftp.on('OPEN', (id, path, flags, { mode }) =>
    reply(id, async () => {
      const file = await open(await containedPath(root, path), nodeFlags(flags), mode ?? 0o644);
      // The caller may have left meanwhile.
      if (isOver) await file.close();
      else files.set(++last, file);
      const handle = Buffer.alloc(HANDLE_BYTES);
      handle.writeUInt32BE(last);
      sftp.handle(id, handle);
      return 'answered';
    }),
  );
  sftp.on('WRITE', (id, handle, offset, data) =>
    reply(id, async () => {
      await fileOf(handle).write(data, 0, data.length, offset);
      return 'done';
    }),
  );
  sftp.on('CLOSE', (id, handle) =>
    reply(id, async () => {
      const file = fileOf(handle);
      files.delete(handle.readUInt32BE());
      await file.close();
      return 'done';
    }),
  );
  const closeAll = () => {
    isOver = true;
    for (const file of files.values()) file.close().catch(() => undefined);
    files.clear();
  };
  sftp.on('error', closeAll);
  sftp.on('end', () => {
    closeAll();
    // OpenSSH's client also waits for this end of the channel.
    sftp.end();
  });
}

const HANDLE_BYTES = 4;

const STATUSES: Readonly<Record<string, number>> = {
  ENOENT: STATUS_CODE.NO_SUCH_FILE,
  ENOTDIR: STATUS_CODE.NO_SUCH_FILE,
  EACCES: STATUS_CODE.PERMISSION_DENIED,
};
const statusOf = ({ code = '' }: NodeJS.ErrnoException) => STATUSES[code] ?? STATUS_CODE.FAILURE;

/** Flags for opening a file to write. */
function nodeFlags(flags: number): number {
  const given = (bit: number, meaning: number) => ((flags & bit) > 0 ? meaning : 0);
  return (
    constants.O_WRONLY |
    given(OPEN_MODE.CREAT, constants.O_CREAT) |
    given(OPEN_MODE.TRUNC, constants.O_TRUNC) |
    given(OPEN_MODE.EXCL, constants.O_EXCL)
  );
}
