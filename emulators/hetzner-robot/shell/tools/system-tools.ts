import { posix } from 'node:path';
import type { Process, Program } from '../process.ts';
import { pathOf, readOptions } from './options.ts';

const said = ({ output }: Process, text: string): number => {
  output(`${text}\n`);
  return 0;
};

/** `test` and `[`: as many words as POSIX knows, and `-a`, `-o`, `!` and brackets. */
const test: Program = (process) => {
  const words = [...process.args];
  if (process.name.endsWith('[')) {
    if (words.pop() !== ']') {
      process.errors('[: missing ]\n');
      return 2;
    }
  }
  return judge(words, process) ? 0 : 1;
};

function judge(words: readonly string[], process: Process): boolean {
  if (words.length === 0) return false;
  if (words.length === 1) return words[0] !== '';
  if (words.length === 3 && Object.hasOwn(BINARY, words[1]!)) {
    return BINARY[words[1]!]!(words[0]!, words[2]!);
  }
  if (words[0] === '!') return !judge(words.slice(1), process);
  if (words[0] === '(' && words.at(-1) === ')') return judge(words.slice(1, -1), process);
  if (words.length === 2 && /^-[a-zA-Z]$/.test(words[0]!))
    return unary(words[0]!, words[1]!, process);
  for (const [operator, both] of [
    ['-o', false],
    ['-a', true],
  ] as const) {
    const at = words.indexOf(operator, 1);
    if (at < 0) continue;
    const left = judge(words.slice(0, at), process);
    const right = judge(words.slice(at + 1), process);
    return both ? left && right : left || right;
  }
  return false;
}

const BINARY: Readonly<Record<string, (left: string, right: string) => boolean>> = {
  '=': (left, right) => left === right,
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '-eq': (left, right) => Number(left) === Number(right),
  '-ne': (left, right) => Number(left) !== Number(right),
  '-lt': (left, right) => Number(left) < Number(right),
  '-le': (left, right) => Number(left) <= Number(right),
  '-gt': (left, right) => Number(left) > Number(right),
  '-ge': (left, right) => Number(left) >= Number(right),
};

function unary(operator: string, value: string, process: Process): boolean {
  if (operator === '-n') return value !== '';
  if (operator === '-z') return value === '';
  const { files } = process.host;
  const path = pathOf(process, value);
  const node = value === '' ? undefined : files.find(path);
  if (operator === '-L' || operator === '-h') return files.findItself(path)?.kind === 'link';
  if (!node) return false;
  if (operator === '-f') return node.kind === 'file';
  if (operator === '-d') return node.kind === 'directory';
  if (operator === '-b') return node.kind === 'device';
  if (operator === '-s') return node.kind === 'file' && node.content !== '';
  if (operator === '-x')
    return node.kind === 'directory' || (node.kind !== 'link' && (node.mode & 0o111) !== 0);
  return ['-e', '-r', '-w'].includes(operator);
}

const hostname: Program = (process) => {
  const [name] = readOptions(process.args).operands;
  if (name === undefined) return said(process, process.host.hostname());
  process.host.setHostname(name);
  return 0;
};

const MILLISECONDS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

const sleep: Program = async ({ args, host }) => {
  for (const arg of args) {
    if (arg === 'infinity') await host.sleep(Infinity);
    const [, count = '0', unit = 's'] = /^([\d.]+)([smhd]?)$/.exec(arg) ?? [];
    await host.sleep(Number(count) * (MILLISECONDS[unit] ?? 1e3));
  }
  return 0;
};

/** Runs the rest of its words. */
const wrapper: Program = (process, run) => {
  const at = process.args.findIndex((arg) => !arg.startsWith('-'));
  return at < 0 ? 0 : run(process.args.slice(at));
};

const env: Program = (process, run) => {
  const environment = { ...process.environment };
  const args = [...process.args];
  while (/^(-|\w+=)/.test(args[0] ?? '')) {
    const [name = '', ...value] = args.shift()!.split('=');
    if (value.length > 0) environment[name] = value.join('=');
  }
  if (args.length > 0) return run(args, { environment });
  return said(
    process,
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  );
};

const timeout: Program = (process, run) => {
  const { operands } = readOptions(process.args, 'ks');
  return run(operands.slice(1));
};

const date: Program = (process) => {
  const format = process.args.find((arg) => arg.startsWith('+')) ?? '+%Y-%m-%dT%H:%M:%SZ';
  const at = new Date(process.host.now()).toISOString();
  const values: Readonly<Record<string, string>> = {
    s: String(Math.floor(process.host.now() / 1_000)),
    Y: at.slice(0, 4),
    m: at.slice(5, 7),
    d: at.slice(8, 10),
    H: at.slice(11, 13),
    M: at.slice(14, 16),
    S: at.slice(17, 19),
    F: at.slice(0, 10),
    T: at.slice(11, 19),
  };
  return said(
    process,
    format.slice(1).replaceAll(/%(\w)/g, (all, one: string) => values[one] ?? all),
  );
};

const uname: Program = (process) => {
  const { given } = readOptions(process.args);
  if (given.has('n')) return said(process, process.host.hostname());
  if (given.has('r')) return said(process, '6.12.0');
  if (given.has('m')) return said(process, 'x86_64');
  return said(process, 'Linux');
};

const id: Program = (process) => {
  const { given } = readOptions(process.args);
  if (given.has('n')) return said(process, 'root');
  return said(process, given.size > 0 ? '0' : 'uid=0(root) gid=0(root) groups=0(root)');
};

const df: Program = (process) =>
  said(
    process,
    'Filesystem 1024-blocks Used Available Capacity Mounted on\nrootfs 32000000 1000000 31000000 4% /',
  );

const nothing: Program = () => 0;

/** In another tree of files. */
const chroot: Program = (process, run) => {
  const [path = '/', ...argv] = process.args;
  const { host } = process;
  const from = pathOf(process, path);
  const inside = (inner: string) => posix.join(from, posix.resolve('/', inner));
  const { files } = host;
  const moved = {
    ...files,
    find: (inner: string) => files.find(inside(inner)),
    findItself: (inner: string) => files.findItself(inside(inner)),
    read: (inner: string) => files.read(inside(inner)),
    write: (inner: string, content: string, mode?: number) =>
      files.write(inside(inner), content, mode),
    append: (inner: string, content: string, mode?: number) =>
      files.append(inside(inner), content, mode),
    makeDirectory: (inner: string, mode?: number) => files.makeDirectory(inside(inner), mode),
    makeOne: (inner: string, mode?: number) => files.makeOne(inside(inner), mode),
    put: (inner: string, node: Parameters<typeof files.put>[1]) => files.put(inside(inner), node),
    remove: (inner: string) => files.remove(inside(inner)),
    list: (inner: string) => files.list(inside(inner)),
  };
  return run(argv.length > 0 ? argv : ['sh'], { host: { ...host, files: moved }, directory: '/' });
};

export const SYSTEM_TOOLS: Readonly<Record<string, Program>> = {
  '[': test,
  chroot,
  date,
  df,
  env,
  false: () => 1,
  hostname,
  hostnamectl: nothing,
  id,
  kill: nothing,
  mount: nothing,
  nice: wrapper,
  nohup: wrapper,
  partprobe: nothing,
  printenv: env,
  pwd: (process) => said(process, process.directory),
  setsid: wrapper,
  sleep,
  sudo: wrapper,
  sync: nothing,
  test,
  timeout,
  true: nothing,
  udevadm: nothing,
  umount: nothing,
  uname,
  whoami: (process) => said(process, 'root'),
};
