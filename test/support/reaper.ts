import { globSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

/**
 * Ends the processes that a test run has left, once its own input ends. Its input ends however the
 * run ends, also when an interrupted run has no time to stop its daemons. Every process of the run
 * has the one argument, such as `NAME=value`, in its environment.
 */
const GRACE_MS = 15_000;

function left(mark: string): number[] {
  return globSync('/proc/[0-9]*/environ').flatMap((path) => {
    const pid = Number(path.split('/')[2]);
    return pid !== process.pid && read(path).split('\0').includes(mark) ? [pid] : [];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended, or belongs to another user.
  }
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

const [mark] = process.argv.slice(2);
if (!mark?.includes('=')) throw new Error('usage: reaper.ts NAME=value');
process.stdin.resume();
await once(process.stdin, 'end');
for (const pid of left(mark)) end(pid, 'SIGTERM');
const untilMs = Date.now() + GRACE_MS;
while (left(mark).length > 0 && Date.now() < untilMs) await setTimeout(250);
for (const pid of left(mark)) end(pid, 'SIGKILL');
