import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The agent's process, recorded beside the executable. */
interface Recorded {
  readonly pid: number;
  /** Start in clock ticks since boot: tells it from a later process with the same number. */
  readonly startTicks: string;
}

const TERM_GRACE_MS = 3_000;
const POLL_MS = 20;

export const pidFileOf = (executable: string): string => `${executable}.pid`;

/** Records the process. @throws {Error} the file cannot be written, or the process is gone. */
export function recordAgent(executable: string, pid: number): void {
  const startTicks = startTicksOf(pid);
  if (startTicks === null) throw new Error(`process ${pid} ended at once`);
  const path = pidFileOf(executable);
  const recorded: Recorded = { pid, startTicks };
  writeFileSync(`${path}.new`, `${JSON.stringify(recorded)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Removes the record if it names this process. */
export function forgetAgent(executable: string, pid: number): void {
  if (readRecord(executable)?.pid === pid) rmSync(pidFileOf(executable), { force: true });
}

/**
 * Ends the agent of an earlier start: with TERM, then KILL. A machine has one agent. Does nothing
 * if the record names no living process.
 * @throws {Error} the agent does not end.
 */
export async function stopPredecessor(executable: string): Promise<void> {
  const recorded = readRecord(executable);
  if (!recorded || !lives(recorded)) return;
  process.kill(recorded.pid, 'SIGTERM');
  if (await isGone(recorded, TERM_GRACE_MS)) return;
  process.kill(recorded.pid, 'SIGKILL');
  if (await isGone(recorded, TERM_GRACE_MS)) return;
  throw new Error(`the earlier agent, process ${recorded.pid}, does not end`);
}

async function isGone(recorded: Recorded, withinMs: number): Promise<boolean> {
  for (const endMs = performance.now() + withinMs; performance.now() < endMs;) {
    if (!lives(recorded)) return true;
    await sleep(POLL_MS);
  }
  return !lives(recorded);
}

const lives = ({ pid, startTicks }: Recorded): boolean => startTicksOf(pid) === startTicks;

/** Null: there is no such process, or only its exit status. */
function startTicksOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the state follows the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function readRecord(executable: string): Recorded | null {
  try {
    const value: unknown = JSON.parse(readFileSync(pidFileOf(executable), 'utf8'));
    return isRecorded(value) ? value : null;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

const isRecorded = (value: unknown): value is Recorded =>
  typeof value === 'object' &&
  value !== null &&
  'pid' in value &&
  Number.isSafeInteger(value.pid) &&
  Number(value.pid) > 1 &&
  'startTicks' in value &&
  typeof value.startTicks === 'string';

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');
