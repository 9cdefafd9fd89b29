import { realpathSync } from 'node:fs';

/** How this program lies on the machine, and how another copy of it is started. */
export interface Program {
  /** The file that was uploaded. */
  readonly path: string;
  /** What to execute, with which arguments. */
  readonly command: readonly [file: string, ...args: string[]];
}

/**
 * Either a script, which its runtime executes, or one executable that has the runtime in it.
 * @throws {Error} the program's own file cannot be found.
 */
export function thisProgram(): Program {
  const { execPath, argv } = process;
  if (isSingleExecutable()) return { path: realpathSync(execPath), command: [execPath] };
  const path = realpathSync(argv[1]!);
  return { path, command: [execPath, path] };
}

/** Runtimes that cannot be one do not have the module. */
function isSingleExecutable(): boolean {
  const sea = process.getBuiltinModule('node:sea') as { isSea(): boolean } | undefined;
  return sea?.isSea() ?? false;
}
