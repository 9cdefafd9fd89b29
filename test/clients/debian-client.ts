import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import type { EquinixEmulator, EquinixEmulatorOptions } from '../../emulators/equinix/options.ts';

/** @throws {Error} the Debian package with the file is not installed. */
export function requireFile(path: string, packageName: string): void {
  if (existsSync(path)) return;
  throw new Error(`${path} is missing: install it with "apt-get install ${packageName}"`);
}

/** Runs a foreign program, and returns its output. */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, {
    env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent', PYTHONDONTWRITEBYTECODE: '1', ...env },
    maxBuffer: 16 * 1024 * 1024,
    timeout: 600_000,
  });
  return stdout;
}

/** An emulator as a foreign program sees it: time runs, a hundred times as fast. */
export const startService = (options: Partial<EquinixEmulatorOptions>): Promise<EquinixEmulator> =>
  startEquinixEmulator({ listen: { host: '127.0.0.1', port: 0 }, profile: 'fast', ...options });
