import { posix } from 'node:path';
import { BUILTINS, CALLED_FUNCTION, Returned, ShellExit } from './builtins.ts';
import { type Expansion, expandPattern, expandText, expandWords } from './expand.ts';
import { FileError } from './files.ts';
import { loop } from './loops.ts';
import { parseScript } from './parse.ts';
import { patternOf } from './patterns.ts';
import {
  emptyInput,
  type Host,
  type Process,
  type Program,
  type Runner,
  type ShellState,
  type Streams,
  textInput,
} from './process.ts';
import {
  type AndOr,
  type Command,
  type Compound,
  type List,
  type Pipeline,
  type Simple,
} from './syntax.ts';
import { redirected } from './redirects.ts';
import { environmentOf, newShell, statusOf, subshellOf } from './state.ts';
import { TOOLS } from './tools/tools.ts';
import { plainOf } from './words.ts';

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** Runs a script to its end. Answers its status. Rejects only when the machine ends. */
export async function runScript(
  text: string,
  state: ShellState,
  streams: Streams,
): Promise<number> {
  let status: number;
  try {
    status = await runList(parseScript(text), state, { ...streams }, false);
  } catch (error) {
    status = statusOf(error, state, streams.errors);
  }
  const { trap } = state;
  state.trap = null;
  if (trap !== null) {
    state.status = status;
    await runScript(trap, state, streams);
  }
  return status;
}

const expansionOf = (state: ShellState, streams: Streams): Expansion & { ran: boolean } => {
  const expansion = {
    state,
    /** Whether there was a command in it, whose status counts. */
    ran: false,
    async substitute(body: List) {
      let output = '';
      const inside = { ...streams, output: (text: string) => void (output += text) };
      state.status = await runApart(body, state, inside);
      expansion.ran = true;
      return output.replace(/\n+$/, '');
    },
  };
  return expansion;
};

/** In a shell of its own, which may exit. */
async function runApart(body: List, state: ShellState, streams: Streams): Promise<number> {
  const own = subshellOf(state);
  let status: number;
  try {
    status = await runList(body, own, { ...streams }, false);
  } catch (error) {
    status = statusOf(error, own, streams.errors);
  }
  if (own.trap !== null) await runScript(own.trap, { ...own, trap: null }, streams);
  return status;
}

/** `isTested`: its failure is looked at, so it ends nothing. */
export async function runList(
  list: List,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  for (const { command, isBackground } of list) {
    state.host.signal.throwIfAborted();
    if (isBackground) startJob([{ command, isBackground: false }], state, streams);
    else state.status = await runAndOr(command, state, streams, isTested);
  }
  return list.length === 0 ? 0 : state.status;
}

function startJob(body: List, state: ShellState, streams: Streams): void {
  const job = runApart(body, state, { ...streams, input: emptyInput });
  state.lastJob = state.lastJob === 0 ? 4_712 : state.lastJob + 1;
  state.jobs.set(state.lastJob, job);
  state.host.background(job);
  state.status = 0;
}

async function runAndOr(
  { first, rest }: AndOr,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  let status = await runPipeline(first, state, streams, isTested || rest.length > 0);
  for (const [n, { operator, pipeline }] of rest.entries()) {
    if ((operator === '&&') !== (status === 0)) continue;
    const isLast = n === rest.length - 1;
    status = await runPipeline(pipeline, state, streams, isTested || !isLast);
  }
  return status;
}

async function runPipeline(
  { isNegated, commands }: Pipeline,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  const [only, ...others] = commands;
  const status =
    others.length === 0
      ? await runCommand(only!, state, streams, isTested || isNegated)
      : await runParts(commands, state, streams);
  state.status = isNegated ? Number(status === 0) : status;
  if (!isTested && !isNegated && state.exitsOnError && status !== 0) throw new ShellExit(status);
  return state.status;
}

/** One after the other: each gets all that the one before wrote. */
async function runParts(
  commands: readonly Command[],
  state: ShellState,
  streams: Streams,
): Promise<number> {
  let { input } = streams;
  const statuses: number[] = [];
  for (const [n, command] of commands.entries()) {
    let written = '';
    const output = (text: string) => void (written += text);
    const isLast = n === commands.length - 1;
    const part = { ...streams, input, ...(!isLast && { output }) };
    const body = [
      {
        command: { first: { isNegated: false, commands: [command] }, rest: [] },
        isBackground: false,
      },
    ];
    statuses.push(await runApart(body, state, part));
    input = textInput(written);
  }
  const failed = state.failsInPipes ? statuses.findLast((one) => one !== 0) : undefined;
  return failed ?? statuses.at(-1)!;
}

async function runCommand(
  command: Command,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  if (command.kind === 'function') {
    state.functions.set(command.name, command.body);
    return 0;
  }
  const opened = await redirected(command.redirects, state, streams, expansionOf(state, streams));
  if (!opened) return 1;
  if (command.kind === 'simple' && command.words.length === 1) {
    const isForGood = plainOf(command.words[0]!) === 'exec';
    if (isForGood) Object.assign(streams, opened);
  }
  if (command.kind === 'simple') return runSimple(command, state, opened, isTested);
  return runCompound(command, state, opened, isTested);
}

async function runCompound(
  command: Compound,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  const run = (list: List, tested = isTested) => runList(list, state, streams, tested);
  switch (command.kind) {
    case 'group':
      return run(command.body);
    case 'subshell':
      return runApart(command.body, state, streams);
    case 'if':
      for (const { test, body } of command.branches) {
        if ((await run(test, true)) === 0) return run(body);
      }
      return command.otherwise ? run(command.otherwise) : 0;
    case 'while':
    case 'until': {
      const wanted = command.kind === 'while';
      return loop(
        state,
        async () => ((await run(command.test, true)) === 0) === wanted,
        () => run(command.body),
      );
    }
    case 'for': {
      const expansion = expansionOf(state, streams);
      const values = command.words ? await expandWords(command.words, expansion) : state.args;
      let next = 0;
      const advance = async () => {
        if (next >= values.length) return false;
        state.variables.set(command.name, values[next++]!);
        return true;
      };
      return loop(state, advance, () => run(command.body));
    }
    case 'case': {
      const expansion = expansionOf(state, streams);
      const subject = await expandText(command.word, expansion);
      for (const { patterns, body } of command.clauses) {
        for (const pattern of patterns) {
          const fits = patternOf(await expandPattern(pattern, expansion));
          if (fits.test(subject)) return run(body);
        }
      }
      return 0;
    }
  }
}

async function runSimple(
  { assignments, words }: Simple,
  state: ShellState,
  streams: Streams,
  isTested: boolean,
): Promise<number> {
  const expansion = expansionOf(state, streams);
  const argv = await expandWords(words, expansion);
  const values: [string, string][] = [];
  for (const { name, value } of assignments)
    values.push([name, await expandText(value, expansion)]);
  const [name, ...args] = argv;
  if (name === undefined) {
    for (const [key, value] of values) state.variables.set(key, value);
    return expansion.ran ? state.status : 0;
  }
  if (state.traces) streams.errors(`+ ${argv.join(' ')}\n`);
  const body = state.functions.get(name);
  if (body) return callFunction(body, args, { state, streams, isTested });
  const builtin = BUILTINS[name];
  if (builtin && Object.hasOwn(BUILTINS, name)) {
    for (const [key, value] of values) state.variables.set(key, value);
    const run = (text: string) => runList(parseScript(text), state, streams, isTested);
    return builtin({
      args,
      state,
      streams,
      run,
      execute: (inner) => execute(inner, state, streams),
    });
  }
  return execute(argv, state, streams, Object.fromEntries(values));
}

interface FunctionCall {
  readonly state: ShellState;
  readonly streams: Streams;
  readonly isTested: boolean;
}

async function callFunction(
  body: Command,
  args: readonly string[],
  { state, streams, isTested }: FunctionCall,
): Promise<number> {
  const { args: before } = state;
  const locals = CALLED_FUNCTION.enter(state);
  state.args = args;
  try {
    return await runCommand(body, state, streams, isTested);
  } catch (error) {
    if (error instanceof Returned) return error.status;
    throw error;
  } finally {
    state.args = before;
    locals.leave();
  }
}

/** Starts a program, as a process that knows of its shell only what is exported. */
function execute(
  argv: readonly string[],
  state: ShellState,
  streams: Streams,
  more: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { host, directory, umask } = state;
  const environment = { ...environmentOf(state), ...more };
  return runProgram(argv, { host, directory, umask, environment, ...streams });
}

type Place = Omit<Process, 'name' | 'args'>;

/** As `exec` does: a tool by its name, or a file by its path. */
export async function runProgram(argv: readonly string[], place: Place): Promise<number> {
  const { host, errors } = place;
  host.signal.throwIfAborted();
  const [name = '', ...args] = argv;
  const runner: Runner = (inner, changes) => runProgram(inner, { ...place, ...changes });
  const fail = (why: string, status: number) => {
    errors(`sh: ${name}: ${why}\n`);
    return status;
  };
  const file = host.files.find(posix.resolve(place.directory, name));
  const base = name.replace(/^(\/usr)?(\/local)?\/s?bin\//, '');
  const path = posix.resolve(place.directory, name);
  const found = programOf(name, host) ?? (name.includes('/') ? programOf(path, host) : undefined);
  const program = found ?? (file ? undefined : programOf(base, host));
  try {
    if (program) return await program({ ...place, name, args }, runner);
    if (!name.includes('/')) return fail('not found', NOT_FOUND);
    if (!file) return fail('No such file or directory', NOT_FOUND);
    if (file.kind !== 'file' || (file.mode & 0o111) === 0) {
      return fail('Permission denied', NOT_EXECUTABLE);
    }
    return await runFile(file.content, { ...place, name, args });
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    errors(`${name}: ${error.message}\n`);
    return 1;
  }
}

const programOf = (name: string, { programs }: Host): Program | undefined => {
  if (Object.hasOwn(programs, name)) return programs[name];
  return Object.hasOwn(ALL, name) ? ALL[name] : undefined;
};

/** A script in a shell of its own. */
export function runFile(content: string, process: Process): Promise<number> {
  const { host, name, args, environment, directory, umask } = process;
  const state = newShell(host, { name, args, directory, umask });
  for (const [key, value] of Object.entries(environment)) {
    state.variables.set(key, value);
    state.exported.add(key);
  }
  return runScript(content, state, process);
}

const shell: Program = (process) => {
  const { args, host, directory, errors, input } = process;
  const rest = [...args];
  let options = '';
  while (/^[-+]\w+$/.test(rest[0] ?? '')) {
    options += rest.shift()!.slice(1);
    if (options.endsWith('o')) rest.shift();
  }
  const prelude = options
    .split('')
    .filter((one) => 'eux'.includes(one))
    .join('');
  const set = prelude === '' ? '' : `set -${prelude}\n`;
  if (options.includes('c')) {
    const [text = '', name = 'sh', ...own] = rest;
    return runFile(`${set}${text}`, { ...process, name, args: own });
  }
  const [path, ...own] = rest;
  if (path === undefined || path === '-s' || options.includes('s')) {
    const given = path === undefined ? [] : rest;
    return input.rest().then((text) => runFile(`${set}${text}`, { ...process, args: given }));
  }
  const file = host.files.find(posix.resolve(directory, path));
  if (file?.kind !== 'file') {
    errors(`sh: cannot open ${path}: No such file\n`);
    return NOT_FOUND;
  }
  return runFile(`${set}${file.content}`, { ...process, name: path, args: own });
};

/** Programs that start others are theirs to name; the rest only work on files and texts. */
const ALL: Readonly<Record<string, Program>> = { ...TOOLS, sh: shell, bash: shell, dash: shell };
