import { posix } from 'node:path';
import type { ShellState, Streams } from './process.ts';
import { TOOLS } from './tools/tools.ts';

/** Ends a shell. */
export class ShellExit extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}
/** Ends a function, or a script that is read in. */
export class Returned extends ShellExit {}
/** Ends a round of a loop, or the loop. */
export class LoopEnd extends Error {
  readonly isBreak: boolean;
  readonly levels: number;
  constructor(isBreak: boolean, levels: number) {
    super(isBreak ? 'break' : 'continue');
    this.isBreak = isBreak;
    this.levels = levels;
  }
}

interface Occasion {
  readonly args: readonly string[];
  readonly state: ShellState;
  readonly streams: Streams;
  /** In this very shell. */
  run(text: string): Promise<number>;
  /** As a process of its own. */
  execute(argv: readonly string[]): Promise<number>;
}
type Builtin = (occasion: Occasion) => Promise<number> | number;

/** Variables that a function made its own, by shell; the newest call last. */
const frames = new WeakMap<ShellState, Map<string, string | undefined>[]>();

export const CALLED_FUNCTION = {
  enter(state: ShellState) {
    const calls = frames.get(state) ?? [];
    frames.set(state, calls);
    const own = new Map<string, string | undefined>();
    calls.push(own);
    return {
      leave() {
        calls.pop();
        for (const [name, value] of own) {
          if (value === undefined) state.variables.delete(name);
          else state.variables.set(name, value);
        }
      },
    };
  },
};

function local({ args, state }: Occasion): number {
  const own = frames.get(state)?.at(-1);
  for (const arg of args) {
    const { name, value } = pairOf(arg);
    if (own && !own.has(name)) own.set(name, state.variables.get(name));
    state.variables.set(name, value ?? '');
  }
  return own ? 0 : 1;
}

const pairOf = (text: string): { name: string; value: string | undefined } => {
  const at = text.indexOf('=');
  return at < 0
    ? { name: text, value: undefined }
    : { name: text.slice(0, at), value: text.slice(at + 1) };
};

function exportAll({ args, state }: Occasion): number {
  for (const arg of args) {
    const { name, value } = pairOf(arg);
    if (value !== undefined) state.variables.set(name, value);
    state.exported.add(name);
  }
  return 0;
}

function set({ args, state, streams }: Occasion): number {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '--') {
      state.args = args.slice(at + 1);
      return 0;
    }
    if (!/^[-+]/.test(arg)) {
      state.args = args.slice(at);
      return 0;
    }
    const isOn = arg.startsWith('-');
    for (const letter of arg.slice(1)) {
      if (letter === 'e') state.exitsOnError = isOn;
      else if (letter === 'u') state.failsOnUnset = isOn;
      else if (letter === 'x') state.traces = isOn;
      else if (letter === 'o') {
        const name = args[++at];
        if (name === 'pipefail') state.failsInPipes = isOn;
        else if (name === 'errexit') state.exitsOnError = isOn;
        else if (name === 'nounset') state.failsOnUnset = isOn;
      } else {
        streams.errors(`set: -${letter} is not played here\n`);
        return 2;
      }
    }
  }
  return 0;
}

function cd({ args, state, streams }: Occasion): number {
  const [target = state.variables.get('HOME') ?? '/root'] = args.filter((arg) => arg !== '--');
  const path = posix.resolve(state.directory, target);
  if (state.host.files.find(path)?.kind !== 'directory') {
    streams.errors(`cd: can't cd to ${target}\n`);
    return 2;
  }
  state.directory = path;
  return 0;
}

/** One line into the variables; the last one takes what is left. */
async function read({ args, state, streams }: Occasion): Promise<number> {
  const names = args.filter((arg) => !arg.startsWith('-'));
  const line = await streams.input.line();
  const separators = state.variables.get('IFS') ?? ' \t\n';
  let rest = (line ?? '').replace(/\n$/, '');
  const isBlank = separators.trim() === '' && separators !== '';
  if (isBlank) rest = rest.trim();
  for (const [n, name] of names.entries()) {
    const isLast = n === names.length - 1;
    const at = isLast || separators === '' ? -1 : rest.search(new RegExp(`[${separators}]`));
    state.variables.set(name, at < 0 ? rest : rest.slice(0, at));
    rest = at < 0 ? '' : isBlank ? rest.slice(at).trimStart() : rest.slice(at + 1);
  }
  return line?.endsWith('\n') ? 0 : 1;
}

async function wait({ args, state }: Occasion): Promise<number> {
  if (args.length === 0) {
    await state.host.apart(Promise.all(state.jobs.values()));
    return 0;
  }
  const job = state.jobs.get(Number(args[0]));
  return job ? state.host.apart(job) : 127;
}

function command({ args, state, streams, execute }: Occasion): Promise<number> | number {
  const [option, ...rest] = args;
  if (option !== '-v' && option !== '-V') return execute(args);
  const [name = ''] = rest;
  const { files, programs } = state.host;
  const isBuiltin = Object.hasOwn(BUILTINS, name) || state.functions.has(name);
  const isTool = Object.hasOwn(TOOLS, name) || Object.hasOwn(programs, name) || SHELLS.has(name);
  const isFile = name.includes('/') && files.find(posix.resolve(state.directory, name));
  if (!isBuiltin && !isTool && !isFile) return 127;
  streams.output(`${isBuiltin || isFile ? name : `/usr/bin/${name}`}\n`);
  return 0;
}
const SHELLS = new Set(['sh', 'bash', 'dash']);

async function source({ args, state, streams, run }: Occasion): Promise<number> {
  const [path = '', ...own] = args;
  const file = state.host.files.find(posix.resolve(state.directory, path));
  if (file?.kind !== 'file') {
    streams.errors(`.: ${path}: not found\n`);
    throw new ShellExit(2);
  }
  const { args: before } = state;
  if (own.length > 0) state.args = own;
  try {
    return await run(file.content);
  } catch (error) {
    if (error instanceof Returned) return error.status;
    throw error;
  } finally {
    state.args = before;
  }
}

function trap({ args, state }: Occasion): number {
  const [action = '', ...conditions] = args;
  if (conditions.includes('EXIT') || conditions.includes('0')) {
    state.trap = action === '-' || action === '' ? null : action;
  }
  return 0;
}

const statusOf = ({ args, state }: Occasion): number =>
  args[0] === undefined ? state.status : Number(args[0]) & 0xff;

/** What a shell does itself, as a process could not. */
export const BUILTINS: Readonly<Record<string, Builtin>> = {
  ':': () => 0,
  '.': source,
  source,
  break: ({ args }) => {
    throw new LoopEnd(true, Number(args[0] ?? 1));
  },
  continue: ({ args }) => {
    throw new LoopEnd(false, Number(args[0] ?? 1));
  },
  cd,
  command,
  eval: ({ args, run }) => run(args.join(' ')),
  exec: async ({ args, execute }) => {
    if (args.length === 0) return 0;
    throw new ShellExit(await execute(args));
  },
  exit: (occasion) => {
    throw new ShellExit(statusOf(occasion));
  },
  export: exportAll,
  local,
  read,
  readonly: exportAll,
  return: (occasion) => {
    throw new Returned(statusOf(occasion));
  },
  set,
  shift: ({ args, state }) => {
    const count = Number(args[0] ?? 1);
    if (count > state.args.length) return 1;
    state.args = state.args.slice(count);
    return 0;
  },
  trap,
  type: (occasion) => command({ ...occasion, args: ['-v', ...occasion.args] }),
  umask: ({ args, state, streams }) => {
    if (args[0] === undefined) streams.output(`${state.umask.toString(8).padStart(4, '0')}\n`);
    else state.umask = Number.parseInt(args[0], 8);
    return 0;
  },
  unset: ({ args, state }) => {
    for (const name of args.filter((arg) => !arg.startsWith('-'))) {
      state.variables.delete(name);
      state.functions.delete(name);
    }
    return 0;
  },
  wait,
};
