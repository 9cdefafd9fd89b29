import {
  type AndOr,
  type Assignment,
  type Command,
  type Compound,
  type List,
  type ListItem,
  type Pipeline,
  type Redirect,
  SyntaxProblem,
  type Word,
} from './syntax.ts';
import { literalOf, plainOf, readExpanding, type Reader, readWord } from './words.ts';

interface PendingText {
  readonly word: Word;
  readonly stripsTabs: boolean;
  /** Told what stood there. */
  fill(target: Word): void;
}

const REDIRECT = /^(\d*)(<<<|<<-|<<|>>|>\||<&|>&|&>|<|>)/;
const FUNCTION_NAME = /^([A-Za-z_][\w-]*)[ \t]*\([ \t]*\)/;
/** Words that only end or divide something. */
const CLOSING = new Set(['then', 'elif', 'else', 'fi', 'do', 'done', 'esac', '}']);
const ASSIGNMENT = /^[A-Za-z_]\w*=/;

/** @throws {SyntaxProblem} */
export function parseScript(text: string): List {
  const reader: Reader = { text, at: 0 };
  const pending: PendingText[] = [];

  function blanks(): void {
    for (;;) {
      const rest = reader.text.slice(reader.at, reader.at + 2);
      if (rest.startsWith(' ') || rest.startsWith('\t')) reader.at++;
      else if (rest === '\\\n') reader.at += 2;
      else if (rest.startsWith('#')) {
        const end = text.indexOf('\n', reader.at);
        reader.at = end < 0 ? text.length : end;
      } else return;
    }
  }
  function newlines(): void {
    for (blanks(); text[reader.at] === '\n'; blanks()) newline();
  }
  function newline(): void {
    reader.at++;
    for (const { word, stripsTabs, fill } of pending.splice(0)) {
      fill(hereText(word, stripsTabs));
    }
  }
  function hereText(word: Word, stripsTabs: boolean): Word {
    const end = literalOf(word) ?? '';
    const isQuoted = word.some((part) => part.kind === 'text' && part.isQuoted);
    const lines: string[] = [];
    while (reader.at < text.length) {
      const stop = text.indexOf('\n', reader.at);
      const raw = text.slice(reader.at, stop < 0 ? text.length : stop);
      reader.at = stop < 0 ? text.length : stop + 1;
      const line = stripsTabs ? raw.replace(/^\t+/, '') : raw;
      if (line === end) break;
      lines.push(`${line}\n`);
    }
    const body = lines.join('');
    if (isQuoted) return [{ kind: 'text', text: body, isQuoted: true }];
    return readExpanding({ text: body, at: 0 }, parseScript, () => false);
  }

  const peek = (what: string) => text.startsWith(what, reader.at);
  function take(what: string): boolean {
    blanks();
    if (!peek(what)) return false;
    reader.at += what.length;
    return true;
  }
  const word = () => {
    blanks();
    return readWord(reader, parseScript);
  };
  /** The reserved word that stands here, without taking it. */
  function reserved(): string | undefined {
    blanks();
    const from = reader.at;
    const found = /^[{}!]|^[a-z]+/.exec(text.slice(from, from + 12))?.[0];
    const next = found === undefined ? undefined : text[from + found.length];
    return next === undefined || /[\s;&|()<>]/.test(next) ? found : undefined;
  }
  function expect(what: string): void {
    newlines();
    if (reserved() !== what) throw new SyntaxProblem(`"${what}" expected`);
    reader.at += what.length;
  }

  function list(ends: readonly string[]): List {
    const items: ListItem[] = [];
    for (;;) {
      newlines();
      if (reader.at >= text.length || peek(')') || peek(';;')) break;
      const next = reserved() ?? '';
      if (ends.includes(next)) break;
      if (CLOSING.has(next)) throw new SyntaxProblem(`unexpected "${next}"`);
      const command = andOr();
      blanks();
      const isBackground = peek('&');
      if (isBackground || (peek(';') && !peek(';;'))) reader.at++;
      else if (reader.at < text.length && !peek('\n') && !peek(')') && !peek(';;')) {
        throw new SyntaxProblem(`unexpected "${text[reader.at]}"`);
      }
      items.push({ command, isBackground });
    }
    return items;
  }
  function andOr(): AndOr {
    const first = pipeline();
    const rest: AndOr['rest'][number][] = [];
    for (;;) {
      blanks();
      const operator = peek('&&') ? '&&' : peek('||') ? '||' : undefined;
      if (!operator) return { first, rest };
      reader.at += 2;
      newlines();
      rest.push({ operator, pipeline: pipeline() });
    }
  }
  function pipeline(): Pipeline {
    let isNegated = false;
    while (reserved() === '!') {
      reader.at++;
      isNegated = !isNegated;
    }
    const commands = [command()];
    for (blanks(); peek('|') && !peek('||'); blanks()) {
      reader.at++;
      newlines();
      commands.push(command());
    }
    return { isNegated, commands };
  }
  function command(): Command {
    blanks();
    const name = FUNCTION_NAME.exec(text.slice(reader.at, reader.at + 200));
    if (name) {
      reader.at += name[0].length;
      newlines();
      return { kind: 'function', name: name[1]!, body: command() };
    }
    const compound = compoundCommand();
    return compound ? { ...compound, redirects: redirects() } : simple();
  }
  function body(end: string, start?: string): List {
    if (start !== undefined) expect(start);
    const inside = list([end]);
    expect(end);
    return inside;
  }
  type Unredirected<T> = T extends unknown ? Omit<T, 'redirects'> : never;
  function compoundCommand(): Unredirected<Compound> | undefined {
    if (peek('(')) {
      reader.at++;
      const inside = list([]);
      if (!take(')')) throw new SyntaxProblem('")" expected');
      return { kind: 'subshell', body: inside };
    }
    const kind = reserved();
    if (kind === '{') {
      reader.at++;
      return { kind: 'group', body: body('}') };
    }
    if (kind === 'if') return conditional();
    if (kind === 'while' || kind === 'until') {
      reader.at += kind.length;
      return { kind, test: list(['do']), body: body('done', 'do') };
    }
    if (kind === 'for') return forLoop();
    if (kind === 'case') return caseOf();
    return undefined;
  }
  function conditional(): Unredirected<Compound> {
    const branches: { test: List; body: List }[] = [];
    do {
      reader.at += reserved()!.length;
      const test = list(['then']);
      expect('then');
      branches.push({ test, body: list(['elif', 'else', 'fi']) });
    } while (reserved() === 'elif');
    const hasElse = reserved() === 'else';
    if (hasElse) reader.at += 'else'.length;
    const otherwise = hasElse ? list(['fi']) : null;
    expect('fi');
    return { kind: 'if', branches, otherwise };
  }
  function forLoop(): Unredirected<Compound> {
    reader.at += 'for'.length;
    const name = plainOf(word());
    if (name === undefined) throw new SyntaxProblem('a name expected');
    newlines();
    let words: Word[] | null = null;
    if (reserved() === 'in') {
      reader.at += 'in'.length;
      words = [];
      for (let next = word(); next.length > 0; next = word()) words.push(next);
    }
    take(';');
    return { kind: 'for', name, words, body: body('done', 'do') };
  }
  function caseOf(): Unredirected<Compound> {
    reader.at += 'case'.length;
    const subject = word();
    expect('in');
    const clauses: { patterns: Word[]; body: List }[] = [];
    for (newlines(); reserved() !== 'esac'; newlines()) {
      take('(');
      const patterns = [word()];
      while (take('|')) patterns.push(word());
      if (!take(')')) throw new SyntaxProblem('")" expected');
      clauses.push({ patterns, body: list(['esac']) });
      take(';;');
    }
    expect('esac');
    return { kind: 'case', word: subject, clauses };
  }
  function redirect(): Redirect | undefined {
    blanks();
    const found = REDIRECT.exec(text.slice(reader.at, reader.at + 12));
    if (!found) return undefined;
    reader.at += found[0].length;
    const [, digits = '', sign = ''] = found;
    const operator = (sign === '<<-' ? '<<' : sign) as Redirect['operator'];
    const descriptor = digits === '' ? (sign.startsWith('<') ? 0 : 1) : Number(digits);
    const target = word();
    if (target.length === 0) throw new SyntaxProblem('a redirection leads nowhere');
    const made = { descriptor, operator, target: target as Word };
    if (operator === '<<') {
      const fill = (inside: Word) => void (made.target = inside);
      pending.push({ word: target, stripsTabs: sign === '<<-', fill });
    }
    return made;
  }
  function redirects(): Redirect[] {
    const found: Redirect[] = [];
    for (let next = redirect(); next; next = redirect()) found.push(next);
    return found;
  }
  function simple(): Command {
    const assignments: Assignment[] = [];
    const words: Word[] = [];
    const leading: Redirect[] = [];
    for (;;) {
      const next = redirect();
      if (next) {
        leading.push(next);
        continue;
      }
      const read = readWord(reader, parseScript);
      if (read.length === 0) break;
      const assignment = words.length === 0 ? assignmentOf(read) : undefined;
      if (assignment) assignments.push(assignment);
      else words.push(read);
    }
    if (assignments.length + words.length + leading.length === 0) {
      throw new SyntaxProblem(`unexpected "${text[reader.at] ?? 'end of file'}"`);
    }
    return { kind: 'simple', assignments, words, redirects: leading };
  }

  const whole = list([]);
  if (reader.at < text.length) throw new SyntaxProblem(`unexpected "${text[reader.at]}"`);
  // The text of a here-document that nothing follows.
  if (pending.length > 0) newline();
  return whole;
}

function assignmentOf(word: Word): Assignment | undefined {
  const [first, ...others] = word;
  if (first?.kind !== 'text' || first.isQuoted || !ASSIGNMENT.test(first.text)) return undefined;
  const at = first.text.indexOf('=');
  const rest = first.text.slice(at + 1);
  const value: Word = rest === '' ? others : [{ ...first, text: rest }, ...others];
  return { name: first.text.slice(0, at), value };
}
