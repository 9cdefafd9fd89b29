import { createHash, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { quote } from 'shell-quote';
import type { Client } from 'ssh2';
import { explain, UploadFailed } from '../../domain/errors.ts';
import type { UploadFile } from './port.ts';
import { openSftp, writeFileFrom, type Turn } from './sftp-file.ts';
import { exec, excerpt } from './ssh2-exec.ts';
import type { Finished } from './ssh2-exec.ts';
import { uploadSteps, WRITTEN } from './upload-scripts.ts';
import type { UploadNames } from './upload-scripts.ts';

export interface UploadMeans {
  readonly client: Client;
  /** Stands before commands that need the rights of root; empty: the user has them. */
  readonly elevation: readonly string[];
  /** For each chunk over SFTP. */
  readonly turn: Turn;
  /** Told when an earlier upload is continued. */
  onResume(fromBytes: number): void;
}

/**
 * Puts the file there. A reader sees the old content or the new one, never a part: the new one is
 * written under a name of its own, read back, and renamed over the old one, which may be running.
 * An upload that broke off leaves its part; the next one of the same content goes on from a copy of
 * it, once the copy's hash is right. So no two uploads ever write to one file.
 * @throws {UploadFailed} the machine refused a step.
 */
export async function uploadFile(
  means: UploadMeans,
  path: string,
  file: UploadFile,
): Promise<{ skipped: boolean }> {
  const { client, elevation } = means;
  const names = namesFor(path, file, elevation.length > 0);
  const steps = uploadSteps(names, elevation);
  const opening = openSftp(client);
  try {
    const said = await run(client, `look for ${path}`, steps.prepare);
    if (said === 'same') return { skipped: true };
    const fromBytes = usable(said, file.content);
    if (fromBytes > 0) means.onResume(fromBytes);
    const writing = writePart(means, names, steps, opening, file.content, fromBytes);
    const word = writing.then(() => WRITTEN);
    const installing = run(client, `put ${path} in place`, steps.install, word);
    // If the writing fails, that is what is told.
    installing.catch(() => undefined);
    await writing;
    await installing;
    return { skipped: false };
  } finally {
    void opening.then((sftp) => sftp?.end());
  }
}

type Steps = ReturnType<typeof uploadSteps>;

async function writePart(
  { client, turn }: UploadMeans,
  { directory, own }: UploadNames,
  steps: Steps,
  opening: ReturnType<typeof openSftp>,
  content: Buffer,
  fromBytes: number,
): Promise<void> {
  try {
    const sftp = await opening;
    const path = posix.join(directory, own);
    if (sftp) return await writeFileFrom(sftp, path, content, { fromBytes, turn });
    const argv = fromBytes > 0 ? steps.append : steps.write;
    await run(client, `write ${own}`, argv, content.subarray(fromBytes));
  } catch (error) {
    throw await abandoned(client, steps, content.length, error);
  }
}

/** SFTP tells nothing of why it refused, so the room is looked at. */
async function abandoned(client: Client, steps: Steps, sizeBytes: number, cause: unknown) {
  const room = await run(client, 'look at the room', steps.abandon).catch(() => '');
  const [, freeKb, mount] = /\s(\d+)\s+\d+%\s+(.*)$/.exec(room) ?? [];
  if (freeKb === undefined || Number(freeKb) * 1_024 >= sizeBytes) return cause;
  const [free, needed] = [Number(freeKb) * 1_024, sizeBytes].map(megabytes);
  return new UploadFailed(
    `${explain(cause)}: ${mount} has ${free} MB free and ${needed} MB are needed; ` +
      'make room there, or upload to another path',
    { cause },
  );
}

const megabytes = (sizeBytes: number): string => (sizeBytes / 1e6).toFixed(1);

/** Bytes of the found part that are the content's own beginning. */
function usable(said: string, content: Buffer): number {
  const [, size = '0', sum] = /^part\s+(\d+)\s+([0-9a-f]{64})$/.exec(said) ?? [];
  const sizeBytes = Number(size);
  if (sizeBytes > content.length) return 0;
  return sha256(content.subarray(0, sizeBytes)) === sum ? sizeBytes : 0;
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Hexadecimal digits of the hash in a part's name: no two contents of ours share them. */
const sumChars = 16;

function namesFor(path: string, file: UploadFile, elevated: boolean): UploadNames {
  const stem = `.${posix.basename(path)}.part-`;
  const parts = `${stem}${file.sha256.slice(0, sumChars)}-`;
  const own = `${parts}${randomUUID()}`;
  const beside = posix.dirname(path);
  return {
    // Who logs in may not write beside the target, but at home.
    directory: elevated ? '' : beside,
    copy: elevated ? posix.join(beside, own) : '',
    stem,
    parts,
    own,
    target: path,
    sizeBytes: file.content.length,
    sha256: file.sha256,
    mode: file.mode.toString(8),
  };
}

const nothing = Buffer.alloc(0);

async function run(
  client: Client,
  what: string,
  argv: readonly string[],
  stdin: Uint8Array | Promise<Uint8Array> = nothing,
): Promise<string> {
  const finished = await exec(client, quote([...argv]), stdin);
  if (finished.exitCode === 0) return finished.stdout.toString('latin1').trim();
  throw new UploadFailed(`cannot ${what}: ${reasonOf(finished)}`);
}

const reasonOf = ({ exitCode, signalName, stderr }: Finished): string =>
  excerpt(stderr) ||
  (exitCode === null ? `it was killed by ${signalName}` : `it exited with ${exitCode}`);
