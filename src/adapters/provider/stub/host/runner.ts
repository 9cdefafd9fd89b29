import type { FaultKind } from '../fault-kinds.ts';
import type { Strike } from '../faults.ts';

/** What a command came to. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A success that says something. */
export const said = (stdout: string): Outcome => ({ exitCode: 0, stdout, stderr: '' });
/** A failure, with a line about it. */
export const failed = (exitCode: number, stderr: string): Outcome => ({
  exitCode,
  stdout: '',
  stderr: `${stderr}\n`,
});

export interface Job {
  /** Null: it runs. */
  readonly endedAtMs: number | null;
}

export interface RunnerDeps {
  sticks(fault: FaultKind): Strike | null;
  /** Null: the fault is not there. */
  since(fault: FaultKind): boolean | null;
  nowMs(): number;
  wait(delayMs: number): Promise<void>;
}

/**
 * The job runner of a machine. `runner --list` prints a job's id a line, `<id> stale` for one that
 * ended but whose lock is held, and `broken` when the machine gives itself up; `runner --start <id>`
 * and `runner --end <id>` answer nothing.
 */
export function createRunner(jobs: Map<string, Job>, { sticks, since, nowMs, wait }: RunnerDeps) {
  /** Whether a job that ended is still listed. */
  function isLocked({ endedAtMs }: Job): boolean {
    if (endedAtMs === null || sticks('stuck-run-lock')) return true;
    return nowMs() < endedAtMs + (sticks('slow-run-lock')?.amount ?? 0);
  }

  function list(): string {
    const lines = [...jobs]
      .filter(([, job]) => isLocked(job))
      .map(([id, { endedAtMs }]) => (endedAtMs === null ? id : `${id} stale`));
    return [...lines, ...(since('reports-broken') ? ['broken'] : []), ''].join('\n');
  }

  async function start(id: string) {
    const detach = sticks('slow-detach');
    if (detach) await wait(detach.amount);
    jobs.set(id, { endedAtMs: sticks('runner-crashes') ? nowMs() : null });
  }

  return async ([verb, id = '']: readonly string[]): Promise<Outcome> => {
    if (sticks('runner-missing')) return failed(127, 'sh: runner: not found');
    if (verb === '--list') return said(list());
    if (verb === '--start') await start(id);
    else if (verb === '--end' && jobs.has(id)) jobs.set(id, { endedAtMs: nowMs() });
    else return failed(2, `runner: ${verb} ${id}: what is that?`);
    return said('');
  };
}
