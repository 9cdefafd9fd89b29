import { globSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

/**
 * Ends the processes that a test run has left, once its own input ends. Its input ends however the
 * run ends, also when an interrupted run has no time to stop its daemons. Every process of the run
 * has the one argument, such as `NAME=value`, in its environment, or was started by one that has:
 * PostgreSQL's overwrite their environment.
 */
const GRACE_MS = 15_000;

/** Those found before stay: a process whose parent ended has another parent. */
const found = new Set<number>();

function left(mark: string): number[] {
  const living = globSync('/proc/[0-9]*/stat').flatMap((path) => {
    const [, pid, parent] = /^(\d+) \(.*\) [^ZX] (\d+)/s.exec(read(path)) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
  const childrenOf = Map.groupBy(living, ({ parent }) => parent);
  const add = (pid: number): void => {
    if (pid === process.pid || found.has(pid)) return;
    found.add(pid);
    for (const child of childrenOf.get(pid) ?? []) add(child.pid);
  };
  for (const { pid } of living) {
    if (read(`/proc/${pid}/environ`).split('\0').includes(mark)) add(pid);
  }
  return living.flatMap(({ pid }) => (found.has(pid) ? [pid] : []));
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
for (const pid of left(mark)) {
  end(pid, 'SIGTERM');
  end(pid, 'SIGCONT'); // A stopped process would not heed it.
}
const untilMs = Date.now() + GRACE_MS;
while (left(mark).length > 0 && Date.now() < untilMs) await setTimeout(250);
for (const pid of left(mark)) end(pid, 'SIGKILL');
