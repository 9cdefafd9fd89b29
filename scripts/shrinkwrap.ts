/**
 * Makes `npm-shrinkwrap.json` for the package from the lock file, without development dependencies,
 * so that installations get the tested versions. `npm pack` deletes it again, because `npm ci` in a
 * checkout would prefer it to the lock file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}
interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly resolved?: string;
  readonly devDependencies?: object;
}

/** Leaves out addresses, so that any registry works. */
export function shrinkwrapOf<Of extends Lock>(lock: Of): Of {
  const packages = Object.entries(lock.packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { resolved: _, devDependencies: __, ...rest }]) => [path, rest] as const);
  return { ...lock, packages: Object.fromEntries(packages) };
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const text = `${JSON.stringify(shrinkwrapOf(lock), null, 2)}\n`;
  writeFileSync(join(root, 'npm-shrinkwrap.json'), text);
}
