import { posix } from 'node:path';
import type { FileNode } from '../files.ts';
import { patternOf } from '../patterns.ts';
import type { Process, Program } from '../process.ts';
import { contentOf, pathOf, readOptions } from './options.ts';

const fail = ({ name, errors }: Process, why: string): number => {
  errors(`${name}: ${why}\n`);
  return 1;
};

const mkdir: Program = (process) => {
  const { given, operands } = readOptions(process.args, 'm');
  const wanted = given.get('m');
  const mode = wanted === undefined ? 0o777 & ~process.umask : Number.parseInt(wanted, 8);
  const { files } = process.host;
  for (const path of operands) {
    if (given.has('p') || given.has('parents')) files.makeDirectory(pathOf(process, path), mode);
    else files.makeOne(pathOf(process, path), mode);
  }
  return 0;
};

const rm: Program = (process) => {
  const { given, operands } = readOptions(process.args);
  const isForced = given.has('f');
  const isRecursive = given.has('r') || given.has('R');
  let status = 0;
  for (const path of operands) {
    const full = pathOf(process, path);
    const node = process.host.files.findItself(full);
    if (node?.kind === 'directory' && !isRecursive)
      status = fail(process, `${path}: Is a directory`);
    else if (!process.host.files.remove(full) && !isForced) {
      status = fail(process, `${path}: No such file or directory`);
    }
  }
  return status;
};

const rmdir: Program = (process) => {
  const { files } = process.host;
  for (const path of readOptions(process.args).operands) {
    if (files.list(pathOf(process, path)).length > 0) {
      return fail(process, `${path}: Directory not empty`);
    }
    files.remove(pathOf(process, path));
  }
  return 0;
};

/** Where a file goes: into the target when that is a directory. */
function targetOf(process: Process, from: string, to: string): string {
  const path = pathOf(process, to);
  const isInto = process.host.files.find(path)?.kind === 'directory';
  return isInto ? posix.join(path, posix.basename(from)) : path;
}

const copyOf = (node: FileNode): FileNode =>
  node.kind === 'directory'
    ? { ...node, entries: new Map([...node.entries].map(([name, inner]) => [name, copyOf(inner)])) }
    : { ...node };

const cp: Program = (process) => {
  const { given, operands } = readOptions(process.args);
  const to = operands.at(-1) ?? '';
  const isDeep = ['r', 'R', 'a'].some((letter) => given.has(letter));
  for (const from of operands.slice(0, -1)) {
    const node = process.host.files.find(pathOf(process, from));
    if (!node) return fail(process, `cannot stat '${from}': No such file or directory`);
    if (node.kind === 'directory' && !isDeep) return fail(process, `-r not given: ${from}`);
    process.host.files.put(targetOf(process, from, to), copyOf(node));
  }
  return 0;
};

const mv: Program = (process) => {
  const { operands } = readOptions(process.args);
  const to = operands.at(-1) ?? '';
  const { files } = process.host;
  for (const from of operands.slice(0, -1)) {
    const node = files.findItself(pathOf(process, from));
    if (!node) return fail(process, `cannot stat '${from}': No such file or directory`);
    const target = targetOf(process, from, to);
    if (target === pathOf(process, from)) continue;
    files.put(target, node);
    files.remove(pathOf(process, from));
  }
  return 0;
};

const ln: Program = (process) => {
  const { given, operands } = readOptions(process.args);
  const [from = '', to = posix.basename(from)] = operands;
  const target = targetOf(process, from, to);
  const { files } = process.host;
  if (files.findItself(target) && !given.has('f')) return fail(process, `${to}: File exists`);
  if (given.has('s')) files.put(target, { kind: 'link', target: from });
  else {
    const node = files.find(pathOf(process, from));
    if (!node) return fail(process, `${from}: No such file or directory`);
    files.put(target, node);
  }
  return 0;
};

/** Octal, or such as `u+x`, `go-rwx`, `+x`. */
function changedMode(mode: number, change: string): number {
  if (/^[0-7]+$/.test(change)) return Number.parseInt(change, 8);
  let next = mode;
  for (const clause of change.split(',')) {
    const [, who = '', sign = '', what = ''] = /^([ugoa]*)([-+=])([rwxXst]*)$/.exec(clause) ?? [];
    const bits = what.split('').reduce((sum, one) => sum | ({ r: 4, w: 2, x: 1 }[one] ?? 0), 0);
    const shifts = { u: 6, g: 3, o: 0 };
    for (const [letter, shift] of Object.entries(shifts)) {
      if (who !== '' && !who.includes(letter) && !who.includes('a')) continue;
      if (sign === '=') next &= ~(7 << shift);
      next = sign === '-' ? next & ~(bits << shift) : next | (bits << shift);
    }
  }
  return next;
}

const chmod: Program = (process) => {
  const [change = '', ...paths] = process.args.filter((arg) => !/^-[RvfcR]+$/.test(arg));
  for (const path of paths) {
    const node = process.host.files.find(pathOf(process, path));
    if (!node) return fail(process, `cannot access '${path}': No such file or directory`);
    if (node.kind !== 'link') node.mode = changedMode(node.mode, change);
  }
  return 0;
};

const touch: Program = (process) => {
  for (const path of readOptions(process.args, 'dt').operands) {
    process.host.files.append(pathOf(process, path), '', 0o666 & ~process.umask);
  }
  return 0;
};

const TYPES = { directory: 'd', file: '-', link: 'l', device: 'b' } as const;
const modeText = (node: FileNode): string => {
  const mode = node.kind === 'link' ? 0o777 : node.mode;
  const bits = 'rwxrwxrwx'.split('').map((letter, n) => (mode & (0o400 >> n) ? letter : '-'));
  return `${TYPES[node.kind]}${bits.join('')}`;
};
const sizeOf = (node: FileNode): number => (node.kind === 'file' ? node.content.length : 4_096);

const ls: Program = (process) => {
  const { given, operands } = readOptions(process.args);
  const { files } = process.host;
  let status = 0;
  const show = (path: string, name: string) => {
    const node = files.findItself(path);
    const link = node?.kind === 'link' ? ` -> ${node.target}` : '';
    const long = node && given.has('l') ? `${modeText(node)} 1 root root ${sizeOf(node)} ` : '';
    process.output(`${long}${name}${given.has('l') ? link : ''}\n`);
  };
  for (const path of operands.length > 0 ? operands : ['.']) {
    const full = pathOf(process, path);
    const node = files.find(full);
    if (!files.findItself(full)) {
      process.errors(`ls: cannot access '${path}': No such file or directory\n`);
      status = 2;
    } else if (node?.kind === 'directory' && !given.has('d')) {
      const isAll = given.has('a') || given.has('A');
      for (const name of files.list(full)) {
        if (isAll || !name.startsWith('.')) show(posix.join(full, name), name);
      }
    } else show(full, path);
  }
  return status;
};

const stat: Program = (process) => {
  const { given, operands } = readOptions(process.args, 'c');
  const format = given.get('c') ?? '%n %s %a';
  for (const path of operands) {
    const node = process.host.files.find(pathOf(process, path));
    if (!node) return fail(process, `cannot stat '${path}': No such file or directory`);
    const mode = node.kind === 'link' ? 0o777 : node.mode;
    const values: Readonly<Record<string, string>> = {
      n: path,
      s: String(sizeOf(node)),
      a: mode.toString(8),
      A: modeText(node),
      F: node.kind === 'file' ? 'regular file' : node.kind,
      U: 'root',
      G: 'root',
      u: '0',
      g: '0',
    };
    process.output(`${format.replaceAll(/%(\w)/g, (_all, one: string) => values[one] ?? '?')}\n`);
  }
  return 0;
};

const readlink: Program = (process) => {
  const { given, operands } = readOptions(process.args);
  const [path = ''] = operands;
  const { files } = process.host;
  const full = pathOf(process, path);
  const isReal = process.name === 'realpath' || ['f', 'e', 'm'].some((one) => given.has(one));
  const node = files.findItself(full);
  if (!node || (!isReal && node.kind !== 'link')) return 1;
  process.output(`${isReal ? files.realPath(full) : (node as { target: string }).target}\n`);
  return 0;
};

const find: Program = (process) => {
  const { args, host } = process;
  const firstTest = args.findIndex((arg) => arg.startsWith('-'));
  const tests = firstTest < 0 ? [] : args.slice(firstTest);
  const after = (name: string) => {
    const at = tests.indexOf(name);
    return at < 0 ? undefined : tests[at + 1];
  };
  const fits = patternOf(after('-name') ?? '*');
  const type = after('-type');
  const deepest = Number(after('-maxdepth') ?? Infinity);
  const walk = (path: string, shown: string, depth: number): void => {
    const node = host.files.findItself(path);
    if (!node) return;
    const kind = { directory: 'd', file: 'f', link: 'l', device: 'b' }[node.kind];
    const isWanted = fits.test(posix.basename(shown)) && (type === undefined || type === kind);
    if (isWanted) process.output(`${shown}\n`);
    if (node.kind !== 'directory' || depth >= deepest) return;
    for (const name of host.files.list(path)) {
      walk(posix.join(path, name), posix.join(shown, name), depth + 1);
    }
  };
  const starts = firstTest < 0 ? args : args.slice(0, firstTest);
  for (const start of starts) walk(pathOf(process, start), start, 0);
  return 0;
};

const tee: Program = async (process) => {
  const { given, operands } = readOptions(process.args);
  const text = await process.input.rest();
  const { files } = process.host;
  for (const path of operands) {
    if (given.has('a')) files.append(pathOf(process, path), text);
    else files.write(pathOf(process, path), text, 0o666 & ~process.umask);
  }
  process.output(text);
  return 0;
};

const mktemp: Program = (process) => {
  const { given, operands } = readOptions(process.args, 'p');
  const [template = 'tmp.XXXXXXXXXX'] = operands;
  const { files } = process.host;
  const stem = posix.resolve(template.includes('/') ? process.directory : '/tmp', template);
  files.makeDirectory('/tmp');
  for (let n = 1; ; n++) {
    const path = stem.replace(/X+$/, (found) => String(n).padStart(found.length, '0'));
    if (files.find(path)) continue;
    if (given.has('d')) files.makeOne(path, 0o700);
    else files.write(path, '', 0o600);
    process.output(`${path}\n`);
    return 0;
  }
};

const dd: Program = async (process) => {
  const values = Object.fromEntries(process.args.map((arg) => arg.split('=') as [string, string]));
  const content = values['if']
    ? process.host.files.read(pathOf(process, values['if']))
    : await process.input.rest();
  if (values['of']) process.host.files.write(pathOf(process, values['of']), content);
  else process.output(content);
  return 0;
};

const install: Program = async (process) => {
  const { given, operands } = readOptions(process.args, 'mog');
  const { files } = process.host;
  const mode = Number.parseInt(given.get('m') ?? '755', 8);
  if (given.has('d')) {
    for (const path of operands) files.makeDirectory(pathOf(process, path), mode);
    return 0;
  }
  const [from = '', to = ''] = operands;
  const target = targetOf(process, from, to);
  if (given.has('D')) files.makeDirectory(posix.dirname(target));
  const content =
    from === '/dev/stdin' ? await process.input.rest() : await contentOf(process, [from]);
  files.write(target, content);
  const node = files.find(target);
  if (node?.kind === 'file') node.mode = mode;
  return 0;
};

/** Everything is root's. */
const nothing: Program = () => 0;

export const FILE_TOOLS: Readonly<Record<string, Program>> = {
  chgrp: nothing,
  chmod,
  chown: nothing,
  cp,
  dd,
  find,
  install,
  ln,
  ls,
  mkdir,
  mktemp,
  mv,
  readlink,
  realpath: readlink,
  rm,
  rmdir,
  stat,
  tee,
  touch,
};
