import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Builds the served page from the present sources before any test. */
export function setup(): void {
  execFileSync(process.execPath, [join(root, 'scripts/build-page.ts')], { stdio: 'inherit' });
}
