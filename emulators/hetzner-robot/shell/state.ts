import { LoopEnd, Returned, ShellExit } from './builtins.ts';
import { UnsetVariable } from './expand.ts';
import { FileError } from './files.ts';
import type { Host, Output, ShellState } from './process.ts';
import { SyntaxProblem } from './syntax.ts';

const SYNTAX = 2;

/** A shell on a machine, before its first command. */
export function newShell(host: Host, given: Partial<ShellState> = {}): ShellState {
  return {
    host,
    variables: new Map(Object.entries({ HOME: '/root', USER: 'root', PATH: '/usr/bin:/bin' })),
    exported: new Set(['HOME', 'USER', 'PATH']),
    functions: new Map(),
    name: 'sh',
    args: [],
    directory: '/root',
    umask: 0o022,
    status: 0,
    exitsOnError: false,
    failsOnUnset: false,
    failsInPipes: false,
    traces: false,
    trap: null,
    lastJob: 0,
    jobs: new Map(),
    ...given,
  };
}

/** How an error ends a script. @throws what is none of a script's own. */
export function statusOf(error: unknown, { name, host }: ShellState, errors: Output): number {
  host.signal.throwIfAborted();
  if (error instanceof ShellExit || error instanceof Returned) return error.status;
  if (error instanceof LoopEnd) return 0;
  const isOurs =
    error instanceof SyntaxProblem || error instanceof UnsetVariable || error instanceof FileError;
  if (!isOurs) throw error;
  errors(`${name}: ${error.message}\n`);
  return SYNTAX;
}

/** A copy that changes nothing of the one that it was made from. */
export const subshellOf = (state: ShellState): ShellState => ({
  ...state,
  variables: new Map(state.variables),
  exported: new Set(state.exported),
  functions: new Map(state.functions),
  jobs: new Map(),
  trap: null,
});

export const environmentOf = ({ variables, exported }: ShellState): Record<string, string> =>
  Object.fromEntries([...variables].filter(([name]) => exported.has(name)));
