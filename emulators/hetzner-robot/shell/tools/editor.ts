import type { Program } from '../process.ts';
import { SyntaxProblem } from '../syntax.ts';
import { contentOf, linesOf, pathOf, readOptions } from './options.ts';

type Expression = (text: string, isExtended: boolean, flags?: string) => RegExp;

interface Address {
  fits(line: string, number: number, isLast: boolean): boolean;
}
interface Edit {
  readonly from: Address | null;
  readonly to: Address | null;
  readonly isNegated: boolean;
  readonly command: string;
  readonly pattern: RegExp | null;
  readonly replacement: string;
  readonly prints: boolean;
}

/** `sed` with `s`, `d`, `p`, `q`, `a`, `i` and `c`, and addresses of lines. */
export const editor =
  (expression: Expression): Program =>
  async (process) => {
    const { given, operands } = readOptions(process.args, 'e');
    const isExtended = given.has('E') || given.has('r');
    const script = given.get('e') ?? operands[0] ?? '';
    const paths = given.has('e') ? operands : operands.slice(1);
    const edits = parse(script, (text, flags) => expression(text, isExtended, flags));
    const { files } = process.host;
    if (given.has('i')) {
      for (const path of paths) {
        const full = pathOf(process, path);
        files.write(full, apply(edits, files.read(full), given.has('n')));
      }
    } else process.output(apply(edits, await contentOf(process, paths), given.has('n')));
    return 0;
  };

function parse(script: string, expression: (text: string, flags?: string) => RegExp): Edit[] {
  let at = 0;
  const edits: Edit[] = [];
  const delimited = (delimiter: string): string => {
    let text = '';
    for (; at < script.length && script[at] !== delimiter; at++) {
      if (script[at] === '\\' && script[at + 1] === delimiter) at++;
      else if (script[at] === '\\') text += script[at++];
      text += script[at] ?? '';
    }
    at++;
    return text;
  };
  const address = (): Address | null => {
    const number = /^\d+/.exec(script.slice(at))?.[0];
    if (number !== undefined) {
      at += number.length;
      return { fits: (_line, n) => n === Number(number) };
    }
    if (script[at] === '$') {
      at++;
      return { fits: (_line, _n, isLast) => isLast };
    }
    if (script[at] !== '/') return null;
    at++;
    const pattern = expression(delimited('/'));
    return { fits: (line) => pattern.test(line) };
  };
  while (at < script.length) {
    if (/[\s;]/.test(script[at]!)) {
      at++;
      continue;
    }
    const from = address();
    let to: Address | null = null;
    if (script[at] === ',') {
      at++;
      to = address();
    }
    while (script[at] === ' ') at++;
    const isNegated = script[at] === '!';
    if (isNegated) at++;
    const command = script[at++] ?? '';
    if (command === 's') {
      const delimiter = script[at++]!;
      const source = delimited(delimiter);
      const replacement = delimited(delimiter);
      const flags = /^[gpiI]*/.exec(script.slice(at))![0];
      at += flags.length;
      const modes = `${flags.includes('g') ? 'g' : ''}${/[iI]/.test(flags) ? 'i' : ''}`;
      const pattern = expression(source, modes);
      const prints = flags.includes('p');
      edits.push({ from, to, isNegated, command, pattern, replacement, prints });
    } else if ('aic'.includes(command) && command !== '') {
      const end = script.indexOf('\n', at);
      const text = script.slice(at, end < 0 ? script.length : end).replace(/^\\?\s*/, '');
      at = end < 0 ? script.length : end;
      edits.push({ from, to, isNegated, command, pattern: null, replacement: text, prints: false });
    } else if ('dpq'.includes(command) && command !== '') {
      edits.push({ from, to, isNegated, command, pattern: null, replacement: '', prints: false });
    } else throw new SyntaxProblem(`sed: "${command}" is not played here`);
  }
  return edits;
}

function apply(edits: readonly Edit[], content: string, isQuiet: boolean): string {
  const lines = linesOf(content);
  const within = new Set<Edit>();
  const output: string[] = [];
  for (const [n, original] of lines.entries()) {
    const isLast = n === lines.length - 1;
    let line = original;
    let isDeleted = false;
    let ends = false;
    const behind: string[] = [];
    for (const edit of edits) {
      if (isDeleted || isChosen(edit, within, { line, number: n + 1, isLast }) === edit.isNegated) {
        continue;
      }
      const { command, pattern, replacement } = edit;
      if (command === 'd') isDeleted = true;
      if (command === 'p') output.push(line);
      if (command === 'q') ends = true;
      if (command === 'i') output.push(replacement);
      if (command === 'a') behind.push(replacement);
      if (command === 'c') {
        output.push(replacement);
        isDeleted = true;
      }
      if (!pattern) continue;
      const changed = line.replace(pattern, (...found) => filled(replacement, found as string[]));
      if (edit.prints && changed !== line) output.push(changed);
      line = changed;
    }
    if (!isDeleted && !isQuiet) output.push(line);
    output.push(...behind);
    if (ends) break;
  }
  return output.map((line) => `${line}\n`).join('');
}

interface Place {
  readonly line: string;
  readonly number: number;
  readonly isLast: boolean;
}

function isChosen(edit: Edit, within: Set<Edit>, { line, number, isLast }: Place): boolean {
  const { from, to } = edit;
  if (!from) return true;
  if (!to) return from.fits(line, number, isLast);
  if (within.has(edit)) {
    if (to.fits(line, number, isLast)) within.delete(edit);
    return true;
  }
  if (!from.fits(line, number, isLast)) return false;
  within.add(edit);
  return true;
}

const filled = (replacement: string, found: readonly string[]): string =>
  replacement.replaceAll(/\\(\d)|\\n|\\(.)|&/g, (all, group?: string, letter?: string) => {
    if (group !== undefined) return found[Number(group)] ?? '';
    if (all === '&') return found[0]!;
    return all === '\\n' ? '\n' : (letter ?? '');
  });
