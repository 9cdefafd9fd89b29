import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Before all test files: what Node compiles is kept, for workers and for the daemons that tests start.
 * Each of those loads the same modules again, and compiling them is most of what its start costs.
 */
export function setup(): void {
  const directory = fileURLToPath(new URL('../../node_modules/.cache/tests', import.meta.url));
  mkdirSync(directory, { recursive: true });
  process.env['NODE_COMPILE_CACHE'] ??= directory;
}
