import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Programs that a machine may have. */
export interface HostPrograms {
  /** Path of the first of these programs; null: none is installed. */
  find(...names: readonly string[]): string | null;
  /**
   * The program's standard output, whatever its exit status.
   * @throws {Error} it is missing, cannot run, writes nothing, or takes too long.
   */
  run(name: string, args: readonly string[]): Promise<string>;
}

const OUTPUT_MAX_BYTES = 1024 * 1024;
/** Includes directories where an SSH login does not look. */
const DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The programs of this system, each limited to `limitMs`. */
export function createHostPrograms(limitMs: number, directories = DIRECTORIES): HostPrograms {
  const locate = (name: string) =>
    directories.map((directory) => join(directory, name)).find(isExecutable) ?? null;
  return {
    find: (...names) => names.map(locate).find((path) => path !== null) ?? null,
    run(name, args) {
      const path = locate(name);
      return path === null
        ? Promise.reject(new Error(`${name} is not on this machine`))
        : runProgram(path, args, limitMs);
    },
  };
}

/** For machines without programs, and for simulated ones. */
export const noPrograms: HostPrograms = {
  find: () => null,
  run: (name) => Promise.reject(new Error(`${name} is not on this machine`)),
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Does not wait for the end, because a program that hangs in the kernel survives its kill. */
function runProgram(path: string, args: readonly string[], limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: OUTPUT_MAX_BYTES, env: { ...process.env, LC_ALL: 'C' } };
    const child = execFile(path, [...args], options, (error, stdout) => {
      clearTimeout(limit);
      if (stdout !== '') resolve(stdout);
      else reject(new Error(`${path} said nothing`, { cause: error }));
    });
    const limit = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      reject(new Error(`${path} took longer than ${limitMs} ms`));
    }, limitMs);
  });
}
