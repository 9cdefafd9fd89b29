import type { Registry } from 'prom-client';
import { DAEMON_ROLES } from '../../domain/daemons.ts';
import { PROCESSORS } from '../../domain/processor.ts';
import type { ConsoleMetrics, DaemonFigures, DaemonMetrics } from './daemon-port.ts';
import { consoleFamilies, daemonFamilies } from './daemon-families.ts';

const KINDS = ['session', 'work', 'permit', 'history'] as const;
const RESULTS = ['Success', 'Error'] as const;
/** The session is the daemon's, whichever part of it works. */
const SESSION = { processor: 'shepherd' } as const;

type OfDaemon = Pick<
  DaemonMetrics,
  | 'sessionPoke'
  | 'transactionAttempts'
  | 'transactionAmbiguous'
  | 'swept'
  | 'loopFailed'
  | 'hostKeyChanged'
  | 'installation'
  | 'standing'
> & {
  /** A creation that led to nothing was forgotten. */
  intentRemoved(): void;
};

/** @param onForeign the provider is provisioned by another daemon now. */
export function daemonMetrics(registry: Registry, onForeign: (provider: string) => void): OfDaemon {
  const families = daemonFamilies(registry);
  const { janitorRemoved, janitorSuccess } = families;
  for (const processor of PROCESSORS) families.ambiguous.inc({ processor }, 0);
  for (const kind of [...KINDS, 'intent']) janitorRemoved.inc({ kind }, 0);
  for (const result of RESULTS) families.installations.inc({ result }, 0);
  const setStanding = standingSetter(families, onForeign);
  return {
    sessionPoke: (seconds) => families.pokeSeconds.observe(SESSION, seconds),
    transactionAttempts: (processor, attempts) =>
      families.attempts.observe({ processor }, attempts),
    transactionAmbiguous: (processor) => families.ambiguous.inc({ processor }),
    swept(removed, atMs) {
      for (const kind of KINDS) {
        janitorRemoved.inc({ kind }, removed[kind]);
        janitorSuccess.set({ kind }, atMs / 1_000);
      }
    },
    intentRemoved: () => janitorRemoved.inc({ kind: 'intent' }),
    loopFailed: (loop) => families.loopErrors.inc({ loop }),
    hostKeyChanged: (provider) => families.hostKeyChanges.inc({ provider }),
    installation: (result) => families.installations.inc({ result }),
    standing: setStanding,
  };
}

const standingSetter =
  (families: ReturnType<typeof daemonFamilies>, onForeign: (provider: string) => void) =>
  (figures: DaemonFigures): void => {
    const { ready, overdue, loopErrors, loopSuccess, loopWorkers, certificates } = families;
    const { oldestIntent, listingAge, hostKeyChanges, deadlineRemaining } = families;
    for (const gauge of [ready, overdue, loopSuccess, loopWorkers, oldestIntent, listingAge]) {
      gauge.reset();
    }
    for (const [check, isPassed] of Object.entries(figures.ready)) {
      ready.set({ check }, isPassed ? 1 : 0);
    }
    for (const role of DAEMON_ROLES) families.role.set({ role }, figures.roles.has(role) ? 1 : 0);
    deadlineRemaining.set(SESSION, figures.sessionSeconds);
    families.eventsWaiting.set(figures.eventsWaitingSeconds);
    for (const [loop, count] of Object.entries(figures.workers)) loopWorkers.set({ loop }, count);
    for (const { loop, lastSuccessAtMs } of figures.loops) {
      loopErrors.inc({ loop }, 0);
      if (lastSuccessAtMs !== null) loopSuccess.set({ loop }, lastSuccessAtMs / 1_000);
    }
    for (const { count, ...labels } of figures.overdue) overdue.set(labels, count);
    for (const { provider, ...each } of figures.providers) {
      if (each.listingSeconds !== null) listingAge.set({ provider }, each.listingSeconds);
      oldestIntent.set({ provider }, each.oldestIntentSeconds);
      hostKeyChanges.inc({ provider }, 0);
      if (!each.isOurs) onForeign(provider);
    }
    for (const { name, notAfterMs } of figures.certificates) {
      certificates.set({ name }, notAfterMs / 1_000);
    }
  };

/** @param suppressed lines of the log so far that were counted instead of written. */
export function consoleMetrics(registry: Registry, suppressed: () => number): ConsoleMetrics {
  const { requests, http, streams, streamsDropped } = consoleFamilies(registry, suppressed);
  return {
    request: (verb, via, outcome) => requests.inc({ verb, via, outcome }),
    httpRequest: (route, method, status, seconds) =>
      http.observe({ route, method, status: String(status) }, seconds),
    streams: (count) => streams.set(count),
    streamDropped: () => streamsDropped.inc(),
  };
}
