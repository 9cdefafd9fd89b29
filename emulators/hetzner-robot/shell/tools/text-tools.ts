import { createHash } from 'node:crypto';
import { FileError } from '../files.ts';
import { type Process, type Program, textToBytes } from '../process.ts';
import { contentOf, linesOf, pathOf, readOptions } from './options.ts';
import { editor } from './editor.ts';

const echo: Program = ({ args, output }) => {
  const [first, ...rest] = args;
  if (first === '-n') output(rest.join(' '));
  else if (first === '-e') output(`${escapes(rest.join(' '))}\n`);
  else output(`${args.join(' ')}\n`);
  return 0;
};

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  '\\': '\\',
};
const escapes = (text: string): string =>
  text.replaceAll(/\\(?:(0?[0-7]{1,3})|x([\da-fA-F]{1,2})|(.))/g, (all, octal, hex, letter) => {
    if (octal) return String.fromCharCode(Number.parseInt(octal as string, 8));
    if (hex) return String.fromCharCode(Number.parseInt(hex as string, 16));
    return ESCAPES[letter as string] ?? all;
  });

/** As long as there are values, the format is used again. */
const printf: Program = ({ args, output, errors }) => {
  const [format, ...values] = args[0] === '--' ? args.slice(1) : args;
  if (format === undefined) {
    errors('printf: usage: printf format [arguments]\n');
    return 2;
  }
  let next = 0;
  do {
    const before = next;
    const text = escapes(format).replaceAll(
      /%(-?)(0?)(\d*)(?:\.(\d+))?([sdiuxXocbq%])/g,
      (_all, minus: string, zero: string, width: string, digits: string, kind: string) => {
        if (kind === '%') return '%';
        return padded(converted(kind, values[next++] ?? '', digits), { minus, zero, width });
      },
    );
    output(text);
    if (next === before) break;
  } while (next < values.length);
  return 0;
};

function converted(kind: string, value: string, digits: string | undefined): string {
  if (kind === 'b') return escapes(value);
  if (kind === 'c') return value.slice(0, 1);
  if (kind === 'q')
    return /^[\w./:-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
  if (kind === 's') return digits === undefined ? value : value.slice(0, Number(digits));
  const radix = { x: 16, X: 16, o: 8 }[kind] ?? 10;
  const text = Math.trunc(Number(value || 0)).toString(radix);
  return kind === 'X' ? text.toUpperCase() : text;
}

const padded = (
  text: string,
  { minus, zero, width }: { minus: string; zero: string; width: string },
): string => {
  const length = Number(width || 0);
  if (minus) return text.padEnd(length);
  return text.padStart(length, zero || ' ');
};

const cat: Program = async (process) => {
  const { operands } = readOptions(process.args);
  let status = 0;
  for (const path of operands.length > 0 ? operands : ['-']) {
    try {
      process.output(await contentOf(process, [path]));
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      process.errors(`cat: ${error.message}\n`);
      status = 1;
    }
  }
  return status;
};

const headOrTail: Program = async (process) => {
  const args = process.args.map((arg) => arg.replace(/^-(\d+)$/, '-n$1'));
  const { given, operands } = readOptions(args, 'nc');
  const content = await contentOf(process, operands);
  const isHead = process.name.endsWith('head');
  const bytes = given.get('c');
  if (bytes !== undefined) {
    process.output(isHead ? content.slice(0, Number(bytes)) : content.slice(-Number(bytes)));
    return 0;
  }
  const wanted = given.get('n') ?? '10';
  const lines = linesOf(content);
  const count = Number(wanted.replace('+', ''));
  const chosen = isHead
    ? lines.slice(0, count < 0 ? count : Math.max(0, count))
    : lines.slice(wanted.startsWith('+') ? count - 1 : Math.max(0, lines.length - count));
  process.output(chosen.map((line) => `${line}\n`).join(''));
  return 0;
};

const wc: Program = async (process) => {
  const { given, operands } = readOptions(process.args);
  const content = await contentOf(process, operands);
  const counts = {
    l: content.split('\n').length - 1,
    w: content.split(/\s+/).filter(Boolean).length,
    c: content.length,
  };
  const letters = (['l', 'w', 'c'] as const).filter((one) => given.size === 0 || given.has(one));
  const name = operands.length > 0 ? [operands[0]] : [];
  process.output(`${[...letters.map((one) => counts[one]), ...name].join(' ')}\n`);
  return 0;
};

/** Basic expressions, as far as they differ from those of JavaScript. */
export function expressionOf(text: string, isExtended: boolean, flags = ''): RegExp {
  const named = text.replaceAll(/\[:(\w+):\]/g, (all, name: string) => CLASSES[name] ?? all);
  const source = isExtended
    ? named
    : named.replaceAll(/\\?[(){}|+?]/g, (found) => (found.length === 2 ? found[1]! : `\\${found}`));
  return new RegExp(source, flags);
}
const CLASSES: Readonly<Record<string, string>> = {
  space: '\\s',
  blank: ' \\t',
  digit: '\\d',
  alpha: 'A-Za-z',
  alnum: 'A-Za-z0-9',
  upper: 'A-Z',
  lower: 'a-z',
};

const grep: Program = async (process) => {
  const { given, operands } = readOptions(process.args, 'emAf');
  const has = (letter: string) => given.has(letter);
  const isGiven = has('e') || has('f');
  const paths = isGiven ? operands : operands.slice(1);
  const listed = given.get('f');
  const patterns =
    listed === undefined
      ? [given.get('e') ?? operands[0] ?? '']
      : linesOf(process.host.files.read(pathOf(process, listed)));
  const expressions = patterns.map((pattern) => {
    const source = has('F') ? pattern.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&') : pattern;
    const whole = has('x') ? `^${source}$` : source;
    const isExtended = has('E') || has('P') || has('F');
    return expressionOf(whole, isExtended, has('i') ? 'i' : '');
  });
  const find = (line: string) =>
    expressions.map((one) => one.exec(line)).find((hit) => hit !== null) ?? null;
  let count = 0;
  for (const path of paths.length > 0 ? paths : ['-']) {
    const file = path === '-' ? undefined : process.host.files.find(pathOf(process, path));
    if (path !== '-' && file?.kind !== 'file') {
      if (!has('s')) process.errors(`grep: ${path}: No such file or directory\n`);
      if (count === 0 && paths.length === 1) return 2;
      continue;
    }
    const prefix = paths.length > 1 && !has('h') ? `${path}:` : '';
    for (const [n, line] of linesOf(await contentOf(process, [path])).entries()) {
      const hit = find(line);
      if ((hit !== null) === has('v')) continue;
      count++;
      if (has('q') || has('c') || has('l')) continue;
      const number = has('n') ? `${n + 1}:` : '';
      process.output(`${prefix}${number}${has('o') ? hit![0] : line}\n`);
      if (given.get('m') === String(count)) break;
    }
    if (has('l') && count > 0) process.output(`${path}\n`);
  }
  if (has('c')) process.output(`${count}\n`);
  return count > 0 ? 0 : 1;
};

const cut: Program = async (process) => {
  const { given, operands } = readOptions(process.args, 'dfcb');
  const delimiter = given.get('d') ?? '\t';
  const fields = given.get('f');
  const ranges = (fields ?? given.get('c') ?? given.get('b') ?? '').split(',');
  const isWanted = (n: number) =>
    ranges.some((range) => {
      const [from = '', to = from] = range.split('-');
      return n >= Number(from || 1) && n <= Number(to === '' ? Infinity : to);
    });
  for (const line of linesOf(await contentOf(process, operands))) {
    const parts = fields === undefined ? line.split('') : line.split(delimiter);
    const isWhole = fields !== undefined && parts.length === 1;
    const chosen = isWhole ? parts : parts.filter((_part, n) => isWanted(n + 1));
    process.output(`${chosen.join(fields === undefined ? '' : delimiter)}\n`);
  }
  return 0;
};

const expandSet = (set: string): string =>
  escapes(set)
    .replaceAll(/\[:(\w+):\]/g, (all, name: string) => TR_CLASSES[name] ?? all)
    .replaceAll(/([^\\])-([^\\])/g, (_all, from: string, to: string) => {
      const length = to.charCodeAt(0) - from.charCodeAt(0) + 1;
      return String.fromCharCode(
        ...Array.from({ length: Math.max(0, length) }, (_none, n) => from.charCodeAt(0) + n),
      );
    });
const TR_CLASSES: Readonly<Record<string, string>> = {
  upper: 'A-Z',
  lower: 'a-z',
  digit: '0-9',
  space: ' \t\n\r',
};

const tr: Program = async ({ args, input, output }) => {
  const { given, operands } = readOptions(args);
  const [from = '', to = ''] = operands.map(expandSet);
  const text = await input.rest();
  const isIn = (one: string) => from.includes(one) !== (given.has('c') || given.has('C'));
  if (given.has('d'))
    output(
      text
        .split('')
        .filter((one) => !isIn(one))
        .join(''),
    );
  else {
    const last = to.at(-1) ?? '';
    const mapped = text
      .split('')
      .map((one) => (isIn(one) && to !== '' ? (to[from.indexOf(one)] ?? last) : one));
    const squeezed = mapped.filter(
      (one, n) => !given.has('s') || one !== mapped[n - 1] || !(to || from).includes(one),
    );
    output(squeezed.join(''));
  }
  return 0;
};

const sort: Program = async (process) => {
  const { given, operands } = readOptions(process.args, 'kt');
  const lines = linesOf(await contentOf(process, operands));
  const isNumeric = given.has('n');
  const sorted = lines.toSorted((a, b) => {
    const numbers = isNumeric ? Number.parseFloat(a) - Number.parseFloat(b) : 0;
    return numbers || (a < b ? -1 : Number(a > b));
  });
  const ordered = given.has('r') ? sorted.toReversed() : sorted;
  const shown = given.has('u') ? [...new Set(ordered)] : ordered;
  process.output(shown.map((line) => `${line}\n`).join(''));
  return 0;
};

const uniq: Program = async (process) => {
  const lines = linesOf(await contentOf(process, readOptions(process.args).operands));
  process.output(
    lines
      .filter((line, n) => line !== lines[n - 1])
      .map((line) => `${line}\n`)
      .join(''),
  );
  return 0;
};

const digest =
  (algorithm: string): Program =>
  async (process) => {
    const { operands } = readOptions(process.args);
    for (const path of operands.length > 0 ? operands : ['-']) {
      const content = await contentOf(process, [path]);
      const sum = createHash(algorithm).update(textToBytes(content)).digest('hex');
      process.output(`${sum}  ${path}\n`);
    }
    return 0;
  };

const base64: Program = async (process) => {
  const { given, operands } = readOptions(process.args, 'w');
  const content = await contentOf(process, operands);
  if (given.has('d') || given.has('decode')) {
    process.output(Buffer.from(content, 'base64').toString('latin1'));
  } else process.output(`${textToBytes(content).toString('base64')}\n`);
  return 0;
};

const seq: Program = ({ args, output }) => {
  const numbers = args.map(Number);
  const [first, last] = numbers.length > 1 ? [numbers[0]!, numbers.at(-1)!] : [1, numbers[0] ?? 0];
  const step = numbers.length > 2 ? numbers[1]! : 1;
  for (let n = first; step > 0 ? n <= last : n >= last; n += step) output(`${n}\n`);
  return 0;
};

const xargs: Program = async (process, run) => {
  const { given, operands } = readOptions(process.args, 'nI');
  const words = (await process.input.rest()).split(/[\s\0]+/).filter(Boolean);
  const command = operands.length > 0 ? operands : ['echo'];
  const size = given.has('I') ? 1 : Number(given.get('n') ?? (words.length || 1));
  if (words.length === 0 && given.has('r')) return 0;
  let status = 0;
  for (let at = 0; at < Math.max(1, words.length); at += size) {
    const some = words.slice(at, at + size);
    const mark = given.get('I');
    const argv =
      mark === undefined
        ? [...command, ...some]
        : command.map((word) => word.replaceAll(mark, some[0] ?? ''));
    if ((await run(argv)) !== 0) status = 123;
  }
  return status;
};

const last = (process: Process, text: string): number => {
  process.output(`${text}\n`);
  return 0;
};

export const TEXT_TOOLS: Readonly<Record<string, Program>> = {
  base64,
  basename: (process) => {
    const [path = '', suffix = ''] = process.args;
    const name = path.replace(/\/+$/, '').split('/').at(-1) ?? '';
    return last(
      process,
      suffix !== '' && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name,
    );
  },
  cat,
  cut,
  dirname: (process) => {
    const path = (process.args[0] ?? '').replace(/\/+$/, '');
    const at = path.lastIndexOf('/');
    return last(process, at < 0 ? '.' : path.slice(0, at) || '/');
  },
  echo,
  grep,
  egrep: (process, run) => run(['grep', '-E', ...process.args]),
  fgrep: (process, run) => run(['grep', '-F', ...process.args]),
  head: headOrTail,
  md5sum: digest('md5'),
  printf,
  sed: editor(expressionOf),
  seq,
  sha256sum: digest('sha256'),
  sort,
  tail: headOrTail,
  tr,
  uniq,
  wc,
  xargs,
};
