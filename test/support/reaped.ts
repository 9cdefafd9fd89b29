import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';

const REAPER = fileURLToPath(new URL('./reaper.ts', import.meta.url));

/**
 * Before all test files: ends, after them, every process that they started, however the run ends.
 */
export function setup(): void {
  const run = randomUUID();
  process.env['SHEPHERD_TEST_RUN'] = run;
  const reaper = spawn(process.execPath, [REAPER, `SHEPHERD_TEST_RUN=${run}`], {
    detached: true, // Keeps Ctrl-C at a terminal away from it.
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  reaper.stdin.on('error', () => undefined);
  reaper.unref();
  (reaper.stdin as unknown as { unref(): void }).unref();
}
