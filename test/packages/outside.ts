import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { root } from '../repo/sources.ts';

const run = promisify(execFile);
const LIMIT_MS = 900_000;
/** Packing, two installations and a first start may each take minutes on a slow network. */
export const PACKAGE_LIMIT_MS = 4 * LIMIT_MS;

/** A directory for the whole test file, removed at its end. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-package-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Copies the files under version control: a build in the copy does not disturb tests that use `dist/`. */
export function copyCheckout(to: string): void {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of files.split('\0').filter(Boolean)) cpSync(join(root, file), join(to, file));
}

/** A copy of the checkout, with the same dependencies. */
export function checkoutIn(directory: string): string {
  const checkout = join(directory, 'checkout');
  copyCheckout(checkout);
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  return checkout;
}

/** Puts the Node that runs this test at a path from which none of the checkout's packages is found. */
export function copyNode(to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(process.execPath, to);
  } catch {
    copyFileSync(process.execPath, to);
  }
}

/**
 * Runs a program as a person without the checkout would. Commands are found in `bin`, then where the system
 * has them. npm keeps the machine's configuration and its cache of tarballs; `npx` installs below `home`.
 * @returns what the program wrote to standard output.
 * @throws when it ends with another status than 0; the message has all that the program wrote.
 */
export async function runOutside(
  [program, ...args]: readonly [string, ...string[]],
  { bin, home, cwd }: { readonly bin: string; readonly home: string; readonly cwd: string },
): Promise<string> {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(npm_(?!config_(registry|userconfig|globalconfig))|NODE_ENV|NODE_OPTIONS|VITEST)/.test(
        name,
      ),
  );
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((at) => !at.startsWith(root));
  const env = {
    ...Object.fromEntries(kept),
    PATH: [bin, ...path].join(delimiter),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_CACHE_HOME: join(home, 'cache'),
    npm_config_cache: npmCacheIn(home),
  };
  try {
    const options = { cwd, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await run(program, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error([program, ...args, '\n', stdout, stderr].join(' '), { cause: error });
  }
}

/** @returns a cache for npm below `home` that has the tarballs of the machine's own cache. */
function npmCacheIn(home: string): string {
  const own = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  const cache = join(home, 'npm');
  mkdirSync(join(own, '_cacache'), { recursive: true });
  mkdirSync(cache, { recursive: true });
  rmSync(join(cache, '_cacache'), { force: true });
  symlinkSync(join(own, '_cacache'), join(cache, '_cacache'));
  return cache;
}
