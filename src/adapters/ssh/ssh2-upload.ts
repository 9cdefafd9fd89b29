import { createHash, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { quote } from 'shell-quote';
import type { Client } from 'ssh2';
import { UploadFailed, explain } from '../../domain/errors.ts';
import type { UploadFile } from './port.ts';
import { openSftp, writeFileFrom, type Turn } from './sftp-file.ts';
import { excerpt, exec, type Finished } from './ssh2-exec.ts';

interface UploadMeans {
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

/**
 * The steps of an upload that run on the machine, for any POSIX shell, with the usual small programs.
 * Everything variable is an argument, so nothing in a name is ever read as shell; and no path stands
 * in a text.
 */

/** Reads its input to the end. OpenSSL is several times faster than the older `sha256sum`. */
const DIGEST = [
  'digest() {',
  '  if command -v openssl >/dev/null; then openssl dgst -sha256 -r; else sha256sum; fi | cut -c 1-64',
  '}',
];
const script = (...lines: readonly string[]): string => lines.join('\n');

/**
 * Goes to the directory `$1`, or home, and runs the rest there. Works as the user that logged in:
 * what follows may be run as another one, who has another home.
 */
const ENTER = script(
  'if [ "$1" ]; then cd "$1" || exit; else cd || exit; fi',
  'shift',
  'exec "$@"',
);

/** Says `same` if the file is there already, and sets its mode. */
const COMPARE = script(
  ...DIGEST,
  'target=$1 size=$2 sum=$3 mode=$4',
  '[ -f "$target" ] && [ "$(wc -c <"$target")" -eq "$size" ] &&',
  '  [ "$(digest <"$target")" = "$sum" ] && chmod "$mode" "$target" && echo same',
  ':',
);

/**
 * Runs the comparison. Unless it says `same`, looks for the longest part that an earlier upload of
 * the same content left, copies it under a name of our own, and says how long it is and what its
 * hash is. Whoever comes last goes on, so an upload that is still alive may lose its part. A copy, because the process that wrote the part may not have noticed yet that its caller
 * has gone, and a program that somebody may still write to cannot be run (ETXTBSY).
 */
const PREPARE = script(
  ...DIGEST,
  'stem=$1 parts=$2 own=$3',
  'shift 3',
  'said=$("$@") || exit',
  'if [ "$said" = same ]; then rm -f "$stem"*; echo same; exit; fi',
  'best= most=0',
  'for part in "$parts"*; do',
  '  [ -f "$part" ] || continue',
  '  size=$(wc -c <"$part")',
  '  if [ "$size" -gt "$most" ]; then best=$part most=$size; fi',
  'done',
  'if [ -z "$best" ]; then echo none; exit; fi',
  'if cp "$best" "$own"; then',
  '  rm -f "$best"',
  '  echo "part $(wc -c <"$own") $(digest <"$own")"',
  'else',
  '  rm -f "$best" "$own"',
  '  echo none',
  'fi',
);

/** Writes its input into the file, from its start. */
const WRITE = 'cat >"$1"';
/** Adds its input to the end of the file. */
const APPEND = 'cat >>"$1"';

/**
 * Waits for the word; without one it does nothing. So it can be started while the file is on its way.
 * Puts what was written in place, if it is what was sent: the content is read back and hashed. With
 * `$6` it is copied there first, which is what makes it another user's. Where somebody else was
 * faster with the same content, that is as good. What other uploads left is removed.
 */
const INSTALL = script(
  ...DIGEST,
  'stem=$1 own=$2 target=$3 mode=$4 sum=$5 copy=$6',
  'read -r word || exit 1',
  'right() { [ "$(digest <"$1")" = "$sum" ]; }',
  'fail() { rm -f "$own" "$copy"; echo "$1" >&2; exit 1; }',
  'if [ -d "$target" ]; then fail "$target is a directory"; fi',
  'if [ ! -f "$own" ]; then',
  '  if [ -f "$target" ] && right "$target"; then exit; fi',
  '  fail "what was written has gone: another upload took its place"',
  'fi',
  'ready=$own',
  'if [ "$copy" ]; then',
  '  ready=$copy',
  '  cp "$own" "$copy" || fail "no room for the copy that is put in place"',
  'fi',
  'right "$ready" || fail "what is there differs from what was sent"',
  'chmod "$mode" "$ready" && mv -f "$ready" "$target" || fail "it could not be put in place"',
  'rm -f "$stem"*',
);

/** Removes what was written and says how much room there is, in a table of `df`. */
const ABANDON = script('rm -f "$1"', 'df -P -k .');

/** The word that `install` of {@link uploadSteps} waits for. */
const WRITTEN = Buffer.from('written\n');

/** Each step calls itself something (`$0`), by which whoever plays machines knows it. */
const sh = (name: string, text: string, ...args: readonly string[]): string[] => [
  ...['sh', '-c', text],
  name,
  ...args,
];

/** What an upload is about, for all its steps. */
interface UploadNames {
  /** Where the parts are: a directory, or empty for the home of the user who logs in. */
  readonly directory: string;
  /** How the names of all parts for this target begin. */
  readonly stem: string;
  /** How the names of the parts of this content begin. */
  readonly parts: string;
  /** Name of our own part; nobody else ever writes to it. */
  readonly own: string;
  /** Where it is copied to before it is put in place; empty: it is moved. */
  readonly copy: string;
  readonly target: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Octal. */
  readonly mode: string;
}

/** The argument vectors of the steps. `elevation` stands before what needs the rights of root. */
export function uploadSteps(names: UploadNames, elevation: readonly string[]) {
  const { stem, parts, own, copy, target, sizeBytes, sha256, mode } = names;
  const inside = (argv: readonly string[]) => sh('enter', ENTER, names.directory, ...argv);
  const compare = sh('upload-compare', COMPARE, target, String(sizeBytes), sha256, mode);
  return {
    prepare: inside(sh('upload-prepare', PREPARE, stem, parts, own, ...elevation, ...compare)),
    write: inside(sh('upload-write', WRITE, own)),
    append: inside(sh('upload-append', APPEND, own)),
    install: inside([
      ...elevation,
      ...sh('upload-install', INSTALL, stem, own, target, mode, sha256, copy),
    ]),
    abandon: inside(sh('upload-abandon', ABANDON, own)),
  };
}
