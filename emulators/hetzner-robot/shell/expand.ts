import { posix } from 'node:path';
import { evaluate } from './arithmetic.ts';
import { isPattern, literalPattern, patternOf, withoutPart } from './patterns.ts';
import type { ShellState } from './process.ts';
import type { List, Part, Word } from './syntax.ts';

/** What words are made into text with. */
export interface Expansion {
  readonly state: ShellState;
  /** The output of a list, without the line ends at its end. */
  substitute(body: List): Promise<string>;
}

/** A text that is missing where the script says that it must not be. */
export class UnsetVariable extends Error {}

/** One text, whatever is in it. */
export async function expandText(word: Word, expansion: Expansion): Promise<string> {
  let text = '';
  for (const part of word) text += await valueOf(part, expansion);
  return text;
}

/** As a pattern: what is quoted in it means itself. */
export async function expandPattern(word: Word, expansion: Expansion): Promise<string> {
  let pattern = '';
  for (const part of word) {
    const value = await valueOf(part, expansion);
    pattern += part.isQuoted ? literalPattern(value) : value;
  }
  return pattern;
}

/** What a command gets: split at blanks, with the names of files that fit. */
export async function expandWords(words: readonly Word[], expansion: Expansion): Promise<string[]> {
  const fields: string[] = [];
  for (const word of words) {
    for (const field of await fieldsOf(word, expansion)) {
      fields.push(...filesFor(field, expansion.state));
    }
  }
  return fields;
}

/** A field as a pattern, in which everything that was quoted is escaped. */
interface Field {
  readonly pattern: string;
}

async function fieldsOf(word: Word, expansion: Expansion): Promise<Field[]> {
  const fields: Field[] = [];
  let open: string | undefined;
  const append = (text: string) => void (open = (open ?? '') + text);
  const close = () => {
    if (open !== undefined) fields.push({ pattern: open });
    open = undefined;
  };
  for (const [n, part] of word.entries()) {
    if (isAllArguments(part)) {
      const { args } = expansion.state;
      for (const [at, arg] of args.entries()) {
        if (at > 0) close();
        append(literalPattern(arg));
      }
      continue;
    }
    const value = await valueOf(part, expansion);
    if (part.isQuoted) append(literalPattern(value));
    else if (part.kind === 'text') append(n === 0 ? homeOf(value, expansion) : value);
    else {
      const separators = expansion.state.variables.get('IFS') ?? ' \t\n';
      const [first = '', ...others] = splitFields(value, separators);
      if (first !== '') append(first);
      for (const other of others) {
        close();
        if (other !== '') append(other);
      }
    }
  }
  close();
  return fields;
}

const isAllArguments = (part: Part) =>
  part.kind === 'parameter' && part.name === '@' && part.isQuoted && part.operator === null;

const homeOf = (text: string, { state }: Expansion): string =>
  text === '~' || text.startsWith('~/')
    ? `${state.variables.get('HOME') ?? '/root'}${text.slice(1)}`
    : text;

/** An empty text before the first and behind the last separator says that there was one. */
function splitFields(value: string, separators: string): string[] {
  if (value === '' || separators === '') return [value];
  const set = `[${separators.replaceAll(/[\\\]^-]/g, '\\$&')}]`;
  return value.split(new RegExp(/^\s*$/.test(separators) ? `${set}+` : set));
}

function filesFor({ pattern }: Field, state: ShellState): string[] {
  const plain = pattern.replaceAll(/\\([\\*?[\]])/g, '$1');
  if (!isPattern(pattern)) return [plain];
  const isAbsolute = pattern.startsWith('/');
  let found = [isAbsolute ? '/' : ''];
  for (const part of pattern.split('/').filter(Boolean)) {
    const fits = patternOf(part, { isPath: true });
    found = found.flatMap((directory) => {
      const at = posix.resolve(state.directory, directory);
      const node = state.host.files.find(at);
      if (node?.kind !== 'directory') return [];
      return state.host.files
        .list(at)
        .filter((name) => fits.test(name) && (part.startsWith('.') || !name.startsWith('.')))
        .map((name) => posix.join(directory, name));
    });
  }
  return found.length > 0 ? found : [plain];
}

async function valueOf(part: Part, expansion: Expansion): Promise<string> {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'command') return expansion.substitute(part.body);
  if (part.kind === 'parameter') return parameterOf(part, expansion);
  const text = await expandText(part.expression, expansion);
  return String(evaluate(text, (name) => variable(expansion.state, name) ?? ''));
}

/** Undefined: it is not set. */
export function variable(state: ShellState, name: string): string | undefined {
  const { args } = state;
  if (name === '0') return state.name;
  if (/^\d+$/.test(name)) return args[Number(name) - 1];
  if (name === '#') return String(args.length);
  if (name === '?') return String(state.status);
  if (name === '@' || name === '*') return args.join(' ');
  if (name === '$') return '4711';
  if (name === '!') return state.lastJob === 0 ? undefined : String(state.lastJob);
  if (name === '-') return `${state.exitsOnError ? 'e' : ''}${state.failsOnUnset ? 'u' : ''}`;
  return state.variables.get(name);
}

async function parameterOf(
  { name, operator, operand }: Part & { kind: 'parameter' },
  expansion: Expansion,
): Promise<string> {
  const { state } = expansion;
  const value = variable(state, name);
  const isMissing = operator?.startsWith(':') ? !value : value === undefined;
  const other = () => expandText(operand, expansion);
  switch (operator?.replace(/^:/, '') ?? null) {
    case '-':
      return isMissing ? other() : value!;
    case '+':
      return isMissing ? '' : other();
    case '=':
      if (!isMissing) return value!;
      state.variables.set(name, await other());
      return variable(state, name)!;
    case '?':
      if (!isMissing) return value!;
      throw new UnsetVariable(`${name}: ${(await other()) || 'parameter null or not set'}`);
    case 'length':
      return String((value ?? '').length);
    case null:
      break;
    default: {
      const pattern = await expandPattern(operand, expansion);
      return withoutPart(value ?? '', pattern, operator!);
    }
  }
  if (value !== undefined) return value;
  if (state.failsOnUnset && !['@', '*', '!'].includes(name)) {
    throw new UnsetVariable(`${name}: parameter not set`);
  }
  return '';
}
