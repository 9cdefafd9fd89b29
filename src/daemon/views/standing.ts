import { provisionerJob } from '../../actors/leases.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { DaemonFigures } from '../../adapters/metrics/port.ts';
import type { HealthReport } from '../../console/port.ts';
import { needsMirror, type DaemonRoles, type LoopSummary } from '../../domain/daemons.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { Parts } from '../parts.ts';
import type { Means } from '../ports.ts';
import { overdueCounts } from './overdue.ts';

export interface StandingDeps extends Pick<Means, 'clock'> {
  readonly parts: Parts;
  readonly health: () => Promise<HealthReport>;
  /** When the console's certificate ends, epoch ms; null: it has none. */
  readonly consoleNotAfterMs: () => number | null;
}

/** How the daemon stands, for each scrape. */
export function createStanding(deps: StandingDeps): () => Promise<DaemonFigures> {
  const { clock, parts, health, consoleNotAfterMs } = deps;
  const { board, keeper, loops, mirror, providers, taskPool } = parts;
  const startedAtMs = clock.monotonic();
  const lists = needsMirror(parts.roles);
  const has = (job: string) =>
    parts.leases.held(job) !== null || parts.statisticsLeases.held(job) !== null;
  const loopTime = createLoopTimes({ roles: parts.roles, has, clock, nowMs: mirror.nowMs });
  return async () => {
    const { checks } = await health();
    return {
      roles: parts.roles,
      ready: Object.fromEntries(Object.entries(checks).map(([name, { ok }]) => [name, ok])),
      sessionSeconds: Math.max(0, keeper.current()?.remainingMs() ?? 0) / 1_000,
      eventsWaitingSeconds: parts.bmdb.events.waitingMs() / 1_000,
      loops: loops.all().map((loop) => ({ loop: loop.name, lastSuccessAtMs: loopTime(loop) })),
      workers: {
        agentStart: taskPool.busyOf('agentStart'),
        recovery: taskPool.busyOf('recovery'),
        deprovision: taskPool.busyOf('deprovision'),
      },
      overdue: overdueCounts(board.entries.values(), parts.isOverdue, mirror.nowMs()),
      providers: [...providers.keys()].map((provider) => {
        const { beganAtMs = startedAtMs } = parts.listings.last(provider) ?? {};
        return {
          provider,
          listingSeconds: lists ? (clock.monotonic() - beganAtMs) / 1_000 : null,
          oldestIntentSeconds: oldestIntentSeconds(parts, provider),
          isOurs: parts.leases.held(provisionerJob(provider)) !== null,
        };
      }),
      certificates: [
        { name: 'console', notAfterMs: consoleNotAfterMs() },
        { name: 'agent-server', notAfterMs: parts.certificateNotAfterMs() },
      ].flatMap(({ name, notAfterMs }) => (notAfterMs === null ? [] : [{ name, notAfterMs }])),
    };
  };
}

function oldestIntentSeconds({ mirror }: Parts, provider: ProviderName): number {
  const ages = (mirror.intents() ?? [])
    .filter((intent) => intent.provider === provider)
    .map(({ createdAtMs }) => (mirror.nowMs() - createdAtMs) / 1_000);
  return Math.max(0, ...ages);
}

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
