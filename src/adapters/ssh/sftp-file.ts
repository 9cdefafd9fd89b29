import type { Client, SFTPWrapper } from 'ssh2';
import { UploadFailed } from '../../domain/errors.ts';

/**
 * OpenSSH takes 256 KiB in one request, headers included; where a server takes less, ssh2 divides
 * them. Larger ones are faster (measured on loopback: 30 KiB 190 ms, 240 KiB 160 ms for 30 MB).
 */
const chunkBytes = 240 * 1024;
/** Half of what OpenSSH lets wait on a channel; with more on their way, each is slower (measured). */
const writesInFlight = 4;

/** Absent when the machine has no SFTP, or cannot be asked: a lost link shows at the next step. */
export const openSftp = (client: Client): Promise<SFTPWrapper | undefined> =>
  new Promise<SFTPWrapper | undefined>((resolve) => {
    client.sftp((error, sftp) => {
      if (error) return resolve(undefined);
      // A malformed answer is also told to every request that waits, which is where it is handled.
      sftp.on('error', () => undefined);
      return resolve(sftp);
    });
  }).catch(() => undefined);

/** Resolves when a chunk may be written. */
export type Turn = () => Promise<void>;

/**
 * Lets one chunk of all uploads be written in each round of the event loop, the oldest upload first.
 * To encrypt one takes a millisecond: those of fifty uploads together kept the database waiting
 * until it was given up. Who waits for a slow line waits for no turn, and holds up nobody.
 * @returns begins an upload.
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
 * Writes the content from `fromBytes` on, where what comes before is there already; from 0 on a file
 * that is there is emptied. @throws {UploadFailed} the machine refused a step.
 */
export async function writeFileFrom(
  sftp: SFTPWrapper,
  path: string,
  content: Buffer,
  { fromBytes, turn }: { readonly fromBytes: number; readonly turn: Turn },
): Promise<void> {
  const flags = fromBytes > 0 ? 'r+' : 'w';
  const handle = await request<Buffer>(`open ${path}`, (done) =>
    sftp.open(path, flags, { mode: 0o600 }, done),
  );
  const close = () => request(`close ${path}`, (done) => sftp.close(handle, done));
  try {
    await writeAll(sftp, { path, handle, turn }, content, fromBytes);
  } catch (error) {
    // Else its room is not given back when it is removed. The first error is the one to tell.
    await close().catch(() => undefined);
    throw error;
  }
  await close();
}

async function writeAll(
  sftp: SFTPWrapper,
  { path, handle, turn }: { readonly path: string; readonly handle: Buffer; readonly turn: Turn },
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
