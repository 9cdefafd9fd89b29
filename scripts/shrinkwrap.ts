/**
 * Makes `npm-shrinkwrap.json` for the package, so that it is installed with the versions that were tested:
 * the lock file without what only development needs. `npm pack` deletes it again, since `npm ci` in a
 * checkout would read it in place of the lock file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}
interface LockedPackage {
  readonly dev?: boolean;
  readonly resolved?: string;
  readonly devDependencies?: object;
}

/** No addresses are in it: each registry that an operator has will do. */
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
