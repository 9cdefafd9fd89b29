import type { Client, SFTPWrapper } from 'ssh2';
import { UploadFailed } from '../../domain/errors.ts';

/**
 * OpenSSH accepts requests of up to 256 KiB, headers included; for servers with a lower limit, ssh2
 * splits them. Larger chunks are faster (measured on loopback: 30 KiB 190 ms, 240 KiB 160 ms for 30
 * MB).
 */
export const chunkBytes = 240 * 1024;
/** Half of what OpenSSH queues on a channel; more chunks in flight make each slower (measured). */
const writesInFlight = 4;

interface OpenSftp {
  readonly sftp: SFTPWrapper;
  /**
   * Resolves when the machine has closed it too. Dropbear 2022.83 refuses commands until then, or
   * ends the connection.
   */
  close(): Promise<void>;
}

/**
 * Resolves with undefined if the machine has no SFTP, or cannot be asked: the next step notices a
 * lost link.
 */
export const openSftp = (client: Client): Promise<OpenSftp | undefined> =>
  new Promise<OpenSftp | undefined>((resolve) => {
    client.sftp((error, sftp) => {
      if (error) return resolve(undefined);
      // A malformed answer also fails every waiting request, which handles it.
      sftp.on('error', () => undefined);
      const closed = new Promise<void>((done) => sftp.once('close', done));
      const close = () => {
        sftp.end();
        return closed;
      };
      return resolve({ sftp, close });
    });
  }).catch(() => undefined);

/** Resolves when a chunk may be written. */
type Turn = () => Promise<void>;

/** How an upload is paced, and how it shows that it still moves. */
export interface Pace {
  /** Awaited before each chunk. */
  readonly turn: Turn;
  /** Called when the machine has taken a chunk. */
  onProgress(): void;
}

/**
 * Lets all uploads together write one chunk per round of the event loop, the oldest upload first.
 * Encrypting a chunk takes a millisecond; the chunks of fifty uploads at once delayed the database
 * until its timeout. An upload that waits for a slow line waits for no turn, and delays nobody.
 * @returns a function that begins an upload.
 */
export function createTurns(): () => Turn {
  const waiting: { readonly upload: number; readonly begin: () => void }[] = [];
  let uploads = 0;
  const next = () => {
    waiting.shift()!.begin();
    if (waiting.length > 0) setImmediate(next);
  };
  return () => {
    const upload = (uploads += 1);
    return () =>
      new Promise((begin) => {
        if (waiting.length === 0) setImmediate(next);
        const at = waiting.findLastIndex((other) => other.upload <= upload) + 1;
        waiting.splice(at, 0, { upload, begin });
      });
  };
}

/**
 * Writes the content from `fromBytes` on, after an existing beginning; from 0 on, an existing file
 * is emptied. @throws {UploadFailed} the machine refused a step.
 */
export async function writeFileFrom(
  sftp: SFTPWrapper,
  path: string,
  content: Buffer,
  { fromBytes, ...pace }: Pace & { readonly fromBytes: number },
): Promise<void> {
  const flags = fromBytes > 0 ? 'r+' : 'w';
  const handle = await request<Buffer>(`open ${path}`, (done) =>
    sftp.open(path, flags, { mode: 0o600 }, done),
  );
  const close = () => request(`close ${path}`, (done) => sftp.close(handle, done));
  try {
    await writeAll(sftp, { path, handle, ...pace }, content, fromBytes);
  } catch (error) {
    // Otherwise the file's space is not freed when it is removed. The first error is the one to
    // report.
    await close().catch(() => undefined);
    throw error;
  }
  await close();
}

async function writeAll(
  sftp: SFTPWrapper,
  { path, handle, turn, onProgress }: Pace & { readonly path: string; readonly handle: Buffer },
  content: Buffer,
  fromBytes: number,
): Promise<void> {
  let at = fromBytes;
  const writer = async () => {
    for (;;) {
      await turn();
      if (at >= content.length) return;
      const from = at;
      const size = Math.min(chunkBytes, content.length - from);
      at += size;
      await request(`write ${path}`, (done) => sftp.write(handle, content, from, size, from, done));
      onProgress();
    }
  };
  const stopOthers = (error: unknown) => {
    at = content.length;
    throw error;
  };
  await Promise.all(Array.from({ length: writesInFlight }, () => writer().catch(stopOthers)));
}

type Done<T> = (error: Error | null | undefined, result?: T) => void;

function request<T = void>(what: string, send: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const refuse = (cause: unknown) => reject(new UploadFailed(`${what} was refused`, { cause }));
    try {
      send((error, result) => (error ? refuse(error) : resolve(result as T)));
    } catch (error) {
      refuse(error);
    }
  });
}
