import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Programs that a machine may have, or not. */
export interface HostPrograms {
  /** Where the first of these programs is; null when the machine has none of them. */
  find(...names: readonly string[]): string | null;
  /**
   * All that the program writes to its standard output, whatever its exit status.
   * @throws {Error} it is not there, cannot be run, says nothing, or takes too long.
   */
  run(name: string, args: readonly string[]): Promise<string>;
}

const OUTPUT_MAX_BYTES = 1024 * 1024;
/** Also where a login over SSH does not look. */
const DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Those of this system, each run for at most `limitMs`. */
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

/** For machines that have none, and for those that are only files. */
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

/** One that hangs in the kernel survives its kill, so its end is not waited for. */
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
