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
export const WRITTEN = Buffer.from('written\n');

/** Each step calls itself something (`$0`), by which whoever plays machines knows it. */
const sh = (name: string, text: string, ...args: readonly string[]): string[] => [
  ...['sh', '-c', text],
  name,
  ...args,
];

/** What an upload is about, for all its steps. */
export interface UploadNames {
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
