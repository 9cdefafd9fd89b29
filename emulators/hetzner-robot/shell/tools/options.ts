import { posix } from 'node:path';
import type { Process } from '../process.ts';

export interface Options {
  /** Letters and long names that were given, with their values; true for those without. */
  readonly given: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/** Reads options as getopt does. `valued` have a value, in the same word or the next. */
export function readOptions(args: readonly string[], valued = ''): Options {
  const given = new Map<string, string>();
  const operands: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '--') {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (arg.startsWith('--')) {
      const [name = '', ...value] = arg.slice(2).split('=');
      given.set(name, value.join('='));
    } else if (/^-./.test(arg)) {
      for (let n = 1; n < arg.length; n++) {
        const letter = arg[n]!;
        if (!valued.includes(letter)) {
          given.set(letter, '');
          continue;
        }
        given.set(letter, n < arg.length - 1 ? arg.slice(n + 1) : (args[++at] ?? ''));
        break;
      }
    } else operands.push(arg);
  }
  return { given, operands };
}

/** Absolute, as the process sees it. */
export const pathOf = ({ directory }: Process, path: string): string =>
  posix.resolve(directory, path);

/** What the files hold, one after the other; without any, the input. */
export async function contentOf(process: Process, paths: readonly string[]): Promise<string> {
  if (paths.length === 0) return process.input.rest();
  let content = '';
  for (const path of paths) {
    content +=
      path === '-' ? await process.input.rest() : process.host.files.read(pathOf(process, path));
  }
  return content;
}

/** Without the line ends. */
export const linesOf = (content: string): string[] =>
  content === '' ? [] : content.replace(/\n$/, '').split('\n');
