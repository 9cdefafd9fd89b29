import { posix } from 'node:path';
import { parse as parseShell } from 'shell-quote';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import type { HostsLog } from './options.ts';

/** The first boot's disk, by the machine's paths. */
export interface UserDataDisk {
  write(path: string, text: string, mode: number): Promise<void>;
  makeDirectory(path: string, mode: number): Promise<void>;
  /** Undefined: the file does not exist. */
  read(path: string): Promise<string | undefined>;
  /** The file need not exist. */
  remove(path: string): Promise<void>;
}

const text = z.string();
const config = z.object({
  write_files: z
    .array(
      z.object({
        path: text,
        content: text.prefault(''),
        encoding: z.enum(['b64', 'text/plain']).prefault('text/plain'),
        permissions: z
          .string()
          .regex(/^0?[0-7]{3}$/)
          .prefault('0644'),
      }),
    )
    .nullish(),
  runcmd: z.array(z.union([text, z.array(text)])).nullish(),
});

const HEAD = /^#cloud-config\s*(\n|$)/;

/**
 * Plays the user data of a machine's first boot: a script that begins with `#!`, or `write_files`
 * and `runcmd` of a `#cloud-config`. Other text has no effect. No shell runs, so nothing reaches
 * the real system. Unsupported parts are skipped, and logged without their text, because user data
 * may hold secrets. Never rejects because of user data.
 */
export async function playUserData(
  userData: string,
  disk: UserDataDisk,
  log: HostsLog,
): Promise<void> {
  if (userData.startsWith('#!')) return playScript(userData, disk, log);
  if (!HEAD.test(userData)) return;
  const parsed = config.safeParse(readYaml(userData));
  if (!parsed.success) {
    log.warn({ paths: parsed.error.issues.map(({ path }) => path) }, 'a bad cloud-config');
    return;
  }
  const { write_files: files, runcmd: commands } = parsed.data;
  for (const { path, content, encoding, permissions } of files ?? []) {
    const written = encoding === 'b64' ? Buffer.from(content, 'base64').toString() : content;
    try {
      await disk.makeDirectory(posix.dirname(path), 0o755);
      await disk.write(path, written, Number.parseInt(permissions, 8));
    } catch (err) {
      log.warn({ err }, 'a file of a cloud-config was not written');
    }
  }
  for (const command of commands ?? []) {
    if (typeof command === 'string') await playScript(command, disk, log);
    else await runCommand(command, disk, log);
  }
}

function readYaml(source: string): unknown {
  try {
    return parseYaml(source) ?? {};
  } catch {
    return undefined;
  }
}

/** A command as a list of words: a script on the disk, or `rm`. */
async function runCommand(argv: readonly string[], disk: UserDataDisk, log: HostsLog) {
  const [program = '', ...args] = argv[0] === '/bin/sh' ? argv.slice(1) : argv;
  const script = program.includes('/') ? await disk.read(program) : undefined;
  if (script !== undefined) await playScript(script, disk, log);
  else if (program !== 'rm') log.debug({}, 'a command of a cloud-config is not played here');
  else for (const path of args.filter((arg) => !arg.startsWith('-'))) await disk.remove(path);
}

/** A playable line: its words, and the file for its output. */
interface ScriptLine {
  readonly words: readonly string[];
  readonly output: string | undefined;
}

/** A script run's state between lines. */
interface ScriptRun {
  readonly disk: UserDataDisk;
  umask: number;
}

/** Plays `umask`, `mkdir`, and `printf` or `echo` into a file, each on its own line. */
async function playScript(script: string, disk: UserDataDisk, log: HostsLog): Promise<void> {
  const run: ScriptRun = { disk, umask: 0o022 };
  for (const [at, line] of script.split('\n').entries()) {
    const words = line.trim();
    if (words === '' || words.startsWith('#')) continue;
    const step = parseStep(words);
    try {
      if (step && (await play(step, run))) continue;
      log.debug({ line: at + 1 }, 'a line of the init script is not played here');
    } catch (err) {
      log.warn({ line: at + 1, err }, 'a line of the init script failed');
    }
  }
}

/** Absent for anything but one simple command without variables and with at most one `> file`. */
function parseStep(line: string): ScriptLine | undefined {
  const tokens = parseShell(line, () => ({ op: '$' }));
  const words = tokens.filter((token) => typeof token === 'string');
  if (line.includes('`')) return undefined;
  if (words.length === tokens.length) return { words, output: undefined };
  const [operator] = tokens.slice(-2);
  const redirects = typeof operator === 'object' && 'op' in operator && operator.op === '>';
  if (!redirects || words.length !== tokens.length - 1) return undefined;
  return { words: words.slice(0, -1), output: words.at(-1) };
}

/** @returns whether the command can be played. */
async function play({ words, output }: ScriptLine, run: ScriptRun): Promise<boolean> {
  const [program, ...args] = words;
  if (output !== undefined) {
    const said = printed(program, args);
    if (said === undefined) return false;
    await run.disk.write(output, said, 0o666 & ~run.umask);
    return true;
  }
  if (program === 'umask' && /^0?[0-7]{3}$/.test(args[0] ?? '')) {
    run.umask = Number.parseInt(args[0]!, 8);
    return true;
  }
  if (program !== 'mkdir') return false;
  for (const path of args.filter((arg) => !arg.startsWith('-'))) {
    await run.disk.makeDirectory(path, 0o777 & ~run.umask);
  }
  return true;
}

function printed(program: string | undefined, args: readonly string[]): string | undefined {
  if (program === 'echo') return `${args.join(' ')}\n`;
  if (program !== 'printf') return undefined;
  const [format = '', ...values] = args;
  let next = 0;
  const said = format.replaceAll(/%s|\\n/g, (found) =>
    found === '%s' ? (values[next++] ?? '') : '\n',
  );
  return /[%\\]/.test(format.replaceAll(/%s|\\n/g, '')) ? undefined : said;
}
