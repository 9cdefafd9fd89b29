import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Before all test files: keeps Node's compiled code for workers and for the daemons of tests. Each
 * of them loads the same modules again, and compilation is most of its start time.
 */
export function setup(): void {
  const directory = fileURLToPath(new URL('../../node_modules/.cache/tests', import.meta.url));
  mkdirSync(directory, { recursive: true });
  process.env['NODE_COMPILE_CACHE'] ??= directory;
}
