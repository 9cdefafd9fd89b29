import { createHash, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { quote } from 'shell-quote';
import type { Client } from 'ssh2';
import { UploadFailed, explain } from '../../domain/errors.ts';
import type { UploadFile } from './port.ts';
import { chunkBytes, openSftp, writeFileFrom, type Pace } from './sftp-file.ts';
import { excerpt, exec, type Finished } from './ssh2-exec.ts';

interface UploadMeans extends Pace {
  readonly client: Client;
  /** Prefix of commands that need root's rights; empty if the user has them. */
  readonly elevation: readonly string[];
  /** Called when an earlier upload is resumed. */
  onResume(fromBytes: number): void;
}

/**
 * Uploads the file. A reader sees the old or the new content, never a part. The new content is
 * written under its own name, unpacked if it was sent compressed, read back, and renamed over the
 * old file, which may be running. An interrupted upload leaves a part. The next upload of the same content continues from a copy of
 * the part, after checking the copy's hash. So two uploads never write to one file.
 * @throws {UploadFailed} the machine refused a step.
 */
export async function uploadFile(
  means: UploadMeans,
  path: string,
  file: UploadFile,
): Promise<{ skipped: boolean }> {
  const { client, elevation, onProgress } = means;
  const names = namesFor(path, file, elevation.length > 0);
  const steps = uploadSteps(names, elevation);
  const said = await run(client, `look for ${path}`, steps.prepare);
  if (said === 'same') return { skipped: true };
  const tool = said.split(' ').at(-1)!;
  const content = (await file.compressed?.get(tool)?.()) ?? file.content;
  const unpack = content === file.content ? '' : `${tool} -dc`;
  onProgress();
  const fromBytes = usable(said, content);
  if (fromBytes > 0) means.onResume(fromBytes);
  const writing = writePart(means, names, steps, content, fromBytes);
  const installing = run(client, `put ${path} in place`, steps.install(unpack), after(writing));
  // If the write fails, its error is the one to report.
  installing.catch(() => undefined);
  try {
    await writing;
    await installing;
  } catch (error) {
    const sizeBytes = content.length + (unpack === '' ? 0 : file.content.length);
    throw await abandoned(client, steps, sizeBytes, error);
  }
  return { skipped: false };
}

type UploadSteps = ReturnType<typeof uploadSteps>;

/** The word that `install` of {@link uploadSteps} waits for. */
async function* after(writing: Promise<void>) {
  await writing;
  yield Buffer.from('written\n');
}

async function* inChunks(content: Buffer, { turn, onProgress }: Pace) {
  for (let at = 0; at < content.length; at += chunkBytes) {
    await turn();
    yield content.subarray(at, at + chunkBytes);
    onProgress();
  }
}

async function writePart(
  { client, ...pace }: UploadMeans,
  { directory, own }: UploadNames,
  steps: UploadSteps,
  content: Buffer,
  fromBytes: number,
): Promise<void> {
  const opened = await openSftp(client);
  if (opened) {
    const path = posix.join(directory, own);
    try {
      return await writeFileFrom(opened.sftp, path, content, { fromBytes, ...pace });
    } finally {
      await opened.close();
    }
  }
  const argv = fromBytes > 0 ? steps.append : steps.write;
  const rest = inChunks(content.subarray(fromBytes), pace);
  return void (await run(client, `write ${own}`, argv, rest));
}

/** SFTP gives no reason for a refusal, so the free space is checked. */
async function abandoned(client: Client, steps: UploadSteps, sizeBytes: number, cause: unknown) {
  const room = await run(client, 'check the free space', steps.abandon).catch(() => '');
  const disks = [...room.matchAll(/\s(\d+)\s+\d+%\s+(.*)$/gm)];
  const full = disks.find(([, freeKb]) => Number(freeKb) * 1_024 < sizeBytes);
  if (!full) return cause;
  const [, freeKb, mount] = full;
  const [free, needed] = [Number(freeKb) * 1_024, sizeBytes].map(megabytes);
  return new UploadFailed(
    `${explain(cause)}: ${mount} has ${free} MB free, but ${needed} MB are needed; ` +
      'free space there, or upload to another path',
    { cause },
  );
}

const megabytes = (sizeBytes: number): string => (sizeBytes / 1e6).toFixed(1);

/** Number of bytes of the found part that equal the beginning of what is sent. */
function usable(said: string, content: Buffer): number {
  const [, size = '0', sum] = /^part\s+(\d+)\s+([0-9a-f]{64})\b/.exec(said) ?? [];
  const sizeBytes = Number(size);
  if (sizeBytes > content.length) return 0;
  return sha256(content.subarray(0, sizeBytes)) === sum ? sizeBytes : 0;
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Hexadecimal digits of the hash in a part's name: enough to distinguish all our contents. */
const sumChars = 16;

function namesFor(path: string, file: UploadFile, elevated: boolean): UploadNames {
  const stem = `.${posix.basename(path)}.part-`;
  const parts = `${stem}${file.sha256.slice(0, sumChars)}-`;
  const random = randomUUID();
  const beside = posix.dirname(path);
  return {
    // The login user may not write beside the target, but may write at home.
    directory: elevated ? '' : beside,
    elevated,
    stem,
    parts,
    own: `${parts}${random}`,
    // Never taken for a part to resume.
    copy: posix.join(beside, `${stem}copy-${random}`),
    tools: [...(file.compressed?.keys() ?? [])].join(' '),
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
  stdin: Uint8Array | AsyncIterable<Uint8Array> = nothing,
): Promise<string> {
  const finished = await exec(client, quote([...argv]), stdin);
  if (finished.exitCode === 0) return finished.stdout.toString('latin1').trim();
  throw new UploadFailed(`cannot ${what}: ${reasonOf(finished)}`);
}

const reasonOf = ({ exitCode, signalName, stderr }: Finished): string =>
  excerpt(stderr) ||
  (exitCode === null ? `it was killed by ${signalName}` : `it exited with ${exitCode}`);

/**
 * Steps of an upload that run on the machine, for any POSIX shell with the usual tools. Everything
 * variable is an argument, so the shell never interprets a name, and no script contains a path.
 */

/** Hashes its input. OpenSSL is several times faster than the older `sha256sum`. */
const DIGEST = [
  'digest() {',
  '  if command -v openssl >/dev/null; then openssl dgst -sha256 -r; else sha256sum; fi | cut -c 1-64',
  '}',
];
const script = (...lines: readonly string[]): string => lines.join('\n');

/**
 * Changes to the directory `$1`, or home, and runs the rest there. Runs as the login user, because
 * the rest may run as another user with another home.
 */
const ENTER = script(
  'if [ "$1" ]; then cd "$1" || exit; else cd || exit; fi',
  'shift',
  'exec "$@"',
);

/**
 * Prints `same` if the file already exists, and sets its mode. On a disk that has become read-only,
 * a program that can run is enough.
 */
const COMPARE = script(
  ...DIGEST,
  'target=$1 size=$2 sum=$3 mode=$4',
  '[ -f "$target" ] && [ "$(wc -c <"$target")" -eq "$size" ] &&',
  '  [ "$(digest <"$target")" = "$sum" ] && { chmod "$mode" "$target" || [ -x "$target" ]; } &&',
  '  echo same',
  ':',
);

/**
 * Runs the comparison. Unless it prints `same`, finds the longest part that an earlier upload of
 * the same content left. Copies that part under our own name, and prints its length and hash. Last
 * it prints the first of the tools `$4` that the machine has. The
 * latest upload wins, so a running upload may lose its part. A copy is needed for two reasons. The
 * process that wrote the part may still be running without its caller. A program that is open for
 * writing cannot be run (ETXTBSY).
 */
const PREPARE = script(
  ...DIGEST,
  'stem=$1 parts=$2 own=$3 tools=$4',
  'shift 4',
  'said=$("$@") || exit',
  'if [ "$said" = same ]; then rm -f "$stem"*; echo same; exit; fi',
  'for tool in $tools ""; do command -v "$tool" >/dev/null && break; done',
  'best= most=0',
  'for part in "$parts"*; do',
  '  [ -f "$part" ] || continue',
  '  size=$(wc -c <"$part")',
  '  if [ "$size" -gt "$most" ]; then best=$part most=$size; fi',
  'done',
  'if [ -z "$best" ]; then echo "none $tool"; exit; fi',
  'if cp "$best" "$own"; then',
  '  rm -f "$best"',
  '  echo "part $(wc -c <"$own") $(digest <"$own") $tool"',
  'else',
  '  rm -f "$best" "$own"',
  '  echo "none $tool"',
  'fi',
);

/** Writes its input into the file from the start. */
const WRITE = 'cat >"$1"';
/** Appends its input to the file. */
const APPEND = 'cat >>"$1"';

/**
 * Waits for the word `written`, and does nothing without it, so it can start during the upload.
 * Reads the content back, checks its hash, and puts it in place. With `$7` the file first passes
 * through that command into `$6`: it is unpacked, or becomes another user's. If another upload of
 * the same content was faster, that is success. Parts of other uploads are removed.
 */
const INSTALL = script(
  ...DIGEST,
  'stem=$1 own=$2 target=$3 mode=$4 sum=$5 copy=$6 through=$7',
  'umask 077',
  'read -r word || exit 1',
  'right() { [ "$(digest <"$1")" = "$sum" ]; }',
  'fail() {',
  '  rm -f "$own" "$copy"',
  '  [ -f "$target" ] && right "$target" && exit',
  '  echo "$1" >&2',
  '  exit 1',
  '}',
  'if [ -d "$target" ]; then fail "$target is a directory"; fi',
  '[ -f "$own" ] || fail "the written part is gone: another upload took its place"',
  'ready=$own',
  'if [ "$through" ]; then',
  '  ready=$copy',
  '  $through <"$own" >"$copy" || fail "the final copy could not be written by $through"',
  'fi',
  'right "$ready" || fail "the content differs from what was sent"',
  'chmod "$mode" "$ready" && mv -f "$ready" "$target" || fail "it could not be put in place"',
  'rm -f "$stem"* "${copy%copy-*}"*',
);

/** Removes the written part and prints the free space, here and in `$2`, as a table of `df`. */
const ABANDON = script('rm -f "$1"', 'df -P -k . "$2"');

/** Each step has a name (`$0`), by which emulated machines recognize it. */
const sh = (name: string, text: string, ...args: readonly string[]): string[] => [
  ...['sh', '-c', text],
  name,
  ...args,
];

/** Names for all steps of an upload. */
interface UploadNames {
  /** Directory of the parts; empty for the login user's home. */
  readonly directory: string;
  /** Prefix of all parts of this target. */
  readonly stem: string;
  /** Prefix of the parts of this content. */
  readonly parts: string;
  /** Name of our own part; nobody else writes to it. */
  readonly own: string;
  /** Whether the target is another user's, and the part must be copied. */
  readonly elevated: boolean;
  /** Where the part is copied or unpacked before it is put in place. */
  readonly copy: string;
  /** Programs that unpack what may be sent, the best first. */
  readonly tools: string;
  readonly target: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Octal. */
  readonly mode: string;
}

/** Argument vectors of the steps. `elevation` is the prefix of commands that need root's rights. */
export function uploadSteps(names: UploadNames, elevation: readonly string[]) {
  const { stem, parts, own, copy, tools, target, sizeBytes, sha256, mode } = names;
  const inside = (argv: readonly string[]) => sh('enter', ENTER, names.directory, ...argv);
  const compare = sh('upload-compare', COMPARE, target, String(sizeBytes), sha256, mode);
  return {
    prepare: inside(
      sh('upload-prepare', PREPARE, stem, parts, own, tools, ...elevation, ...compare),
    ),
    write: inside(sh('upload-write', WRITE, own)),
    append: inside(sh('upload-append', APPEND, own)),
    /** @param unpack reads what was sent, and writes the content; empty if it was sent as it is. */
    install(unpack: string) {
      const through = unpack || (names.elevated ? 'cat' : '');
      const args = [stem, own, target, mode, sha256, copy, through];
      return inside([...elevation, ...sh('upload-install', INSTALL, ...args)]);
    },
    abandon: inside(sh('upload-abandon', ABANDON, own, posix.dirname(target))),
  };
}
