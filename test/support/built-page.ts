import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Before any test: the page that is served is of the sources that are here. */
export function setup(): void {
  execFileSync(process.execPath, [join(root, 'scripts/build-page.ts')], { stdio: 'inherit' });
}
