import { parse } from 'shell-quote';
import type { HostsLog } from './options.ts';

/** Where the script of a first boot writes, by the paths that the machine uses. */
export interface ScriptDisk {
  write(path: string, text: string, mode: number): Promise<void>;
  makeDirectory(path: string, mode: number): Promise<void>;
}

/** A line that is played: its words, and the file that takes its output. */
interface Step {
  readonly words: readonly string[];
  readonly output: string | undefined;
}

/** What a run of the script carries from line to line. */
interface Run {
  readonly disk: ScriptDisk;
  umask: number;
}

/**
 * Plays the script of a machine's first boot: `umask`, `mkdir`, and `printf` or `echo` into a file.
 * No shell runs, so nothing of it can reach the real system. Every other line is left out and logged
 * by its number alone, as a script may hold secrets. Text that does not begin with `#!` is not a
 * script, and nothing happens. Never rejects for what a script says.
 */
export async function playScript(script: string, disk: ScriptDisk, log: HostsLog): Promise<void> {
  if (!script.startsWith('#!')) return;
  const run: Run = { disk, umask: 0o022 };
  for (const [at, line] of script.split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const step = parseStep(text);
    try {
      if (step && (await play(step, run))) continue;
      log.debug({ line: at + 1 }, 'a line of the init script is not played here');
    } catch (err) {
      log.warn({ line: at + 1, err }, 'a line of the init script failed');
    }
  }
}

/** Absent for anything but one simple command, with at most one `> file`, without variables. */
function parseStep(text: string): Step | undefined {
  const tokens = parse(text, () => ({ op: '$' }));
  const words = tokens.filter((token) => typeof token === 'string');
  if (/[`]/.test(text)) return undefined;
  if (words.length === tokens.length) return { words, output: undefined };
  const [operator] = tokens.slice(-2);
  const redirects = typeof operator === 'object' && 'op' in operator && operator.op === '>';
  if (!redirects || words.length !== tokens.length - 1) return undefined;
  return { words: words.slice(0, -1), output: words.at(-1) };
}

/** Answers whether the command is one that is played. */
async function play({ words, output }: Step, run: Run): Promise<boolean> {
  const [program, ...args] = words;
  if (output !== undefined) {
    const text = printed(program, args);
    if (text === undefined) return false;
    await run.disk.write(output, text, 0o666 & ~run.umask);
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
  const text = format.replaceAll(/%s|\\n/g, (found) =>
    found === '%s' ? (values[next++] ?? '') : '\n',
  );
  return /[%\\]/.test(format.replaceAll(/%s|\\n/g, '')) ? undefined : text;
}
