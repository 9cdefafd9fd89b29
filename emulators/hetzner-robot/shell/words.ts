import { type List, type Part, SyntaxProblem, type Word } from './syntax.ts';

/** Where the reader of a script is. */
export interface Reader {
  readonly text: string;
  at: number;
}

export type ParseList = (text: string) => List;

const SPECIAL = /^[?@*#$!0-9-]/;
const NAME = /^[A-Za-z_]\w*/;
const OPERATORS = [':-', ':=', ':+', ':?', '##', '%%', '-', '=', '+', '?', '#', '%'];
const META = new Set([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']);

/** Reads one word; empty: there is none here. `ends` says what else ends it. */
export function readWord(
  reader: Reader,
  parseList: ParseList,
  ends: (character: string) => boolean = (character) => META.has(character),
): Part[] {
  const parts: Part[] = [];
  const add = (text: string, isQuoted: boolean) => {
    const last = parts.at(-1);
    if (last?.kind === 'text' && last.isQuoted === isQuoted) {
      parts[parts.length - 1] = { ...last, text: last.text + text };
    } else parts.push({ kind: 'text', text, isQuoted });
  };
  while (reader.at < reader.text.length) {
    const character = reader.text[reader.at]!;
    if (ends(character)) break;
    if (character === "'") {
      add(readTo(reader, "'"), true);
    } else if (character === '"') {
      reader.at++;
      parts.push({ kind: 'text', text: '', isQuoted: true }, ...readQuoted(reader, parseList));
    } else if (character === '\\') {
      const next = reader.text[reader.at + 1];
      reader.at += 2;
      if (next !== '\n') add(next ?? '\\', true);
    } else if (character === '$' || character === '`') {
      const part = readExpansion(reader, parseList, false);
      if (part) parts.push(part);
      else {
        add(character, false);
        reader.at++;
      }
    } else {
      add(character, false);
      reader.at++;
    }
  }
  return parts;
}

/** From an opening character to the same closing one. */
function readTo(reader: Reader, close: string): string {
  const end = reader.text.indexOf(close, reader.at + 1);
  if (end < 0) throw new SyntaxProblem(`unterminated ${close}`);
  const inside = reader.text.slice(reader.at + 1, end);
  reader.at = end + 1;
  return inside;
}

/** What is between double quotes; the reader is behind the first one. */
function readQuoted(reader: Reader, parseList: ParseList): Part[] {
  const parts = readExpanding(reader, parseList, (character) => character === '"');
  if (reader.text[reader.at] !== '"') throw new SyntaxProblem('unterminated "');
  reader.at++;
  return parts;
}

/** Text with expansions and nothing else, as in double quotes and here-documents. */
export function readExpanding(
  reader: Reader,
  parseList: ParseList,
  ends: (character: string) => boolean,
): Part[] {
  const parts: Part[] = [];
  let text = '';
  const flush = () => {
    if (text !== '') parts.push({ kind: 'text', text, isQuoted: true });
    text = '';
  };
  while (reader.at < reader.text.length) {
    const character = reader.text[reader.at]!;
    if (ends(character)) break;
    if (character === '\\') {
      const next = reader.text[reader.at + 1] ?? '';
      reader.at += 2;
      if ('$`"\\'.includes(next) && next !== '') text += next;
      else if (next !== '\n') text += `\\${next}`;
      continue;
    }
    const part =
      character === '$' || character === '`' ? readExpansion(reader, parseList, true) : undefined;
    if (part) {
      flush();
      parts.push(part);
    } else {
      text += character;
      reader.at++;
    }
  }
  flush();
  return parts;
}

/** Undefined: the dollar is only a dollar. */
function readExpansion(reader: Reader, parseList: ParseList, isQuoted: boolean): Part | undefined {
  const { text, at } = reader;
  if (text[at] === '`') {
    const inside = readBackquoted(reader);
    return { kind: 'command', body: parseList(inside), isQuoted };
  }
  if (text.startsWith('$((', at)) {
    const end = closing(text, at + 1);
    if (text[end - 1] === ')') {
      const inside: Reader = { text: text.slice(at + 3, end - 1), at: 0 };
      reader.at = end + 1;
      const expression = readExpanding(inside, parseList, () => false);
      return { kind: 'arithmetic', expression, isQuoted };
    }
  }
  if (text.startsWith('$(', at)) {
    const end = closing(text, at + 1);
    reader.at = end + 1;
    return { kind: 'command', body: parseList(text.slice(at + 2, end)), isQuoted };
  }
  if (text.startsWith('${', at)) return readBraced(reader, parseList, isQuoted);
  const rest = text.slice(at + 1);
  const name = NAME.exec(rest)?.[0] ?? SPECIAL.exec(rest)?.[0];
  if (name === undefined) return undefined;
  reader.at += 1 + name.length;
  return { kind: 'parameter', name, operator: null, operand: [], isQuoted };
}

function readBackquoted(reader: Reader): string {
  let inside = '';
  for (let at = reader.at + 1; at < reader.text.length; at++) {
    const character = reader.text[at]!;
    if (character === '`') {
      reader.at = at + 1;
      return inside;
    }
    const next = reader.text[at + 1] ?? '';
    if (character === '\\' && '`$\\'.includes(next)) at++;
    inside += character === '\\' && '`$\\'.includes(next) ? next : character;
  }
  throw new SyntaxProblem('unterminated `');
}

function readBraced(reader: Reader, parseList: ParseList, isQuoted: boolean): Part {
  reader.at += 2;
  const { text } = reader;
  const isLength = text[reader.at] === '#' && text[reader.at + 1] !== '}';
  if (isLength) reader.at++;
  const rest = text.slice(reader.at);
  const name = NAME.exec(rest)?.[0] ?? /^\d+/.exec(rest)?.[0] ?? SPECIAL.exec(rest)?.[0];
  if (name === undefined) throw new SyntaxProblem('bad substitution');
  reader.at += name.length;
  const operator = isLength
    ? 'length'
    : (OPERATORS.find((one) => text.startsWith(one, reader.at)) ?? null);
  if (operator && !isLength) reader.at += operator.length;
  const isEnd = (character: string) => character === '}';
  const operand: Word =
    isQuoted && !operator?.match(/[#%]/)
      ? readExpanding(reader, parseList, isEnd)
      : readWord(reader, parseList, isEnd);
  if (text[reader.at] !== '}') throw new SyntaxProblem('bad substitution');
  reader.at++;
  return { kind: 'parameter', name, operator, operand, isQuoted };
}

/** Where the bracket that opens at `at` is closed, over quotes and brackets within. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let n = at; n < text.length; n++) {
    const character = text[n]!;
    if (character === '\\') n++;
    else if (character === "'") n = indexOrFail(text, "'", n + 1);
    else if (character === '"') n = quoteEnd(text, n + 1);
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return n;
  }
  throw new SyntaxProblem('unterminated (');
}

function quoteEnd(text: string, from: number): number {
  for (let n = from; n < text.length; n++) {
    if (text[n] === '\\') n++;
    else if (text.startsWith('$(', n)) n = closing(text, n + 1);
    else if (text[n] === '"') return n;
  }
  throw new SyntaxProblem('unterminated "');
}

function indexOrFail(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  if (found < 0) throw new SyntaxProblem(`unterminated ${what}`);
  return found;
}

/** The text of a word without expansions; undefined when it has some. */
export const literalOf = (word: Word): string | undefined =>
  word.every((part) => part.kind === 'text')
    ? word.map((part) => (part.kind === 'text' ? part.text : '')).join('')
    : undefined;

/** The same, when nothing of it is quoted: it may be a reserved word. */
export const plainOf = (word: Word): string | undefined => {
  const [part, ...others] = word;
  return part?.kind === 'text' && !part.isQuoted && others.length === 0 ? part.text : undefined;
};
