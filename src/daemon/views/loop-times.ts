import type { Clock } from '../../adapters/clock/port.ts';
import { needsMirror, type DaemonRoles } from '../../domain/daemon-roles.ts';
import type { LoopSummary } from '../../domain/loop-summary.ts';

export interface LoopTimesDeps {
  readonly roles: DaemonRoles;
  /** Whether this daemon has a job now. */
  readonly has: (job: string) => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/**
 * When each loop last succeeded, for whoever watches that it goes on. One that never did counts from when
 * this daemon had to run it, or it would never be missed; null: it does not run here.
 */
export function createLoopTimes({ roles, has, clock, nowMs }: LoopTimesDeps) {
  const startedAt = clock.monotonic();
  /** Since when this daemon has been seen to have the job of a loop. */
  const hadSince = new Map<string, number>();
  const since = ({ name, job }: Pick<LoopSummary, 'name' | 'job'>): number | null => {
    if (job === null) return runsWith(roles, name) ? startedAt : null;
    if (!has(job)) {
      hadSince.delete(name);
      return null;
    }
    const at = hadSince.get(name) ?? clock.monotonic();
    hadSince.set(name, at);
    return at;
  };
  return (loop: LoopSummary): number | null => {
    const at = since(loop);
    if (loop.lastSuccessAtMs !== null || at === null) return loop.lastSuccessAtMs;
    return nowMs() - (clock.monotonic() - at);
  };
}

/** Some loops are known to every daemon, and run by those with the role alone. */
function runsWith(roles: DaemonRoles, loop: string): boolean {
  if (loop === 'sweep') return roles.has('janitor');
  return loop === 'rows' || loop.startsWith('listing ') ? needsMirror(roles) : true;
}
