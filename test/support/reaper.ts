import { globSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

/**
 * Ends what a run of the tests has left running, when its input ends, which it does however the run
 * ended: an interrupted run has no time to stop the daemons that its tests started. They are known by
 * what every process of the run finds in its environment: the one argument, such as `NAME=value`.
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
    return ''; // It has ended, or is another user's.
  }
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
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
