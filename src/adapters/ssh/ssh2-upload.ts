import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { quote } from 'shell-quote';
import type { Client, SFTPWrapper } from 'ssh2';
import { RemoteFailure } from '../../domain/errors.ts';
import type { UploadFile } from './port.ts';
import { assertSuccess, exec } from './ssh2-exec.ts';

const nothing = Buffer.alloc(0);
const modeBits = 0o7777;
/** Below what any server takes in one packet, so that one write is one request. */
const chunkBytes = 30 * 1024;
const writesInFlight = 64;

/**
 * Puts the file there. A reader sees the old content or the new one, never a part: the new one is
 * written beside it under a temporary name and renamed over it.
 * @throws {RemoteFailure} the machine refused a step.
 */
export async function uploadFile(
  client: Client,
  path: string,
  file: UploadFile,
): Promise<{ skipped: boolean }> {
  const sftp = await openSftp(client);
  if (!sftp) return uploadOverExec(client, path, file);
  try {
    return await uploadOverSftp(client, sftp, path, file);
  } finally {
    sftp.end();
  }
}

/** Absent when the machine has no SFTP; a lost connection shows at the next step. */
const openSftp = (client: Client) =>
  new Promise<SFTPWrapper | undefined>((resolve) => {
    client.sftp((error, sftp) => {
      if (error) return resolve(undefined);
      // A malformed answer is also told to every request that waits, which is where it is handled.
      sftp.on('error', () => undefined);
      return resolve(sftp);
    });
  });

async function uploadOverSftp(client: Client, sftp: SFTPWrapper, path: string, file: UploadFile) {
  const present = await statOrNothing(sftp, path);
  const same =
    present?.size === file.content.length && (await remoteSha256(client, path)) === file.sha256;
  if (same) {
    if ((present.mode & modeBits) !== file.mode) {
      await request(`set mode of ${path}`, (done) => sftp.chmod(path, file.mode, done));
    }
    return { skipped: true };
  }
  const temporary = temporaryBeside(path);
  try {
    await writeAll(sftp, temporary, file.content);
    await request(`set mode of ${temporary}`, (done) => sftp.chmod(temporary, file.mode, done));
    await renameOver(sftp, temporary, path);
  } catch (error) {
    // Whether that works or not, the first error is the one to tell.
    await request('', (done) => sftp.unlink(temporary, done)).catch(() => undefined);
    throw error;
  }
  return { skipped: false };
}

/** For machines without SFTP. */
async function uploadOverExec(client: Client, path: string, file: UploadFile) {
  const mode = file.mode.toString(8);
  if ((await remoteSha256(client, path)) === file.sha256) {
    await run(client, quote(['chmod', mode, path]));
    return { skipped: true };
  }
  const temporary = temporaryBeside(path);
  try {
    await run(client, `cat > ${quote([temporary])}`, file.content);
    await run(client, quote(['chmod', mode, temporary]));
    await run(client, quote(['mv', '-f', temporary, path]));
  } catch (error) {
    await run(client, quote(['rm', '-f', temporary])).catch(() => undefined);
    throw error;
  }
  return { skipped: false };
}

const run = async (client: Client, command: string, stdin: Uint8Array = nothing) =>
  assertSuccess(await exec(client, command, stdin), command);

/** Random: another daemon whose claim has lapsed may still be writing. */
const temporaryBeside = (path: string) =>
  posix.join(posix.dirname(path), `.${posix.basename(path)}.${randomUUID()}`);

/** Absent when there is no such file, or no `sha256sum` there. */
async function remoteSha256(client: Client, path: string): Promise<string | undefined> {
  const { stdout, exitCode } = await exec(client, quote(['sha256sum', path]), nothing);
  // GNU sets a backslash before the sum when it had to escape the file's name.
  return exitCode === 0 ? /^\\?([0-9a-f]{64})\b/.exec(stdout.toString('latin1'))?.[1] : undefined;
}

async function writeAll(sftp: SFTPWrapper, path: string, content: Buffer): Promise<void> {
  const handle = await request<Buffer>(`create ${path}`, (done) => sftp.open(path, 'wx', done));
  let at = 0;
  const writer = async () => {
    while (at < content.length) {
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
  await request(`close ${path}`, (done) => sftp.close(handle, done));
}

/**
 * Plain SFTP rename refuses to replace a file; OpenSSH's extension does not, even when the old one
 * is running. Without it the old one is removed first.
 */
async function renameOver(sftp: SFTPWrapper, from: string, to: string): Promise<void> {
  const what = `rename ${from} to ${to}`;
  try {
    return await request(what, (done) => sftp.ext_openssh_rename(from, to, done));
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
  await request(`remove ${to}`, (done) => sftp.unlink(to, done)).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  await request(what, (done) => sftp.rename(from, to, done));
}

const statOrNothing = async (sftp: SFTPWrapper, path: string) => {
  try {
    return await request<{ size: number; mode: number }>(`look at ${path}`, (done) =>
      sftp.stat(path, done),
    );
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

type Done<T> = (error: Error | null | undefined, result?: T) => void;

function request<T = void>(what: string, send: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const refuse = (cause: unknown) => reject(new RemoteFailure(`${what} was refused`, { cause }));
    try {
      send((error, result) => (error ? refuse(error) : resolve(result as T)));
    } catch (error) {
      refuse(error);
    }
  });
}

/** SSH_FX_NO_SUCH_FILE (draft-ietf-secsh-filexfer-02 §7). */
const isMissing = (error: unknown) => sftpCode(error) === 2;
/** SSH_FX_OP_UNSUPPORTED; ssh2 throws without a code when the server did not offer the extension. */
const isUnsupported = (error: unknown) => [8, undefined].includes(sftpCode(error));
const sftpCode = (error: unknown) =>
  ((error as Error).cause as { code?: number } | undefined)?.code;
