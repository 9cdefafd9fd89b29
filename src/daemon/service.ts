import type { SnapshotFrom } from 'xstate';
import type { Clock } from '../adapters/clock/port.ts';
import type { ServiceManager } from '../adapters/systemd/port.ts';
import type { fleet } from '../machines/fleet.ts';
import type { Daemon } from './daemon.ts';

type Watched = Pick<Daemon, 'supervisor' | 'takesTurns' | 'reload'>;

/** Interval and duration of messages during a long start or stop, which are limited. */
const STEP = { everyMs: 10_000, forMs: 30_000 };
const START_MAX_MS = 15 * 60_000;
const STOP_MAX_MS = 2 * 60_000;
/** Interval of status texts for the service manager. */
const STATUS_MS = 20_000;
/** Number of watchdog signals per watchdog period. */
const SIGNS = 3;

/** Messages to the service manager, from the start of the process to its end. */
export interface Service {
  /** Call it when listeners are open. Resolves after the first attempt for a session. */
  started(daemon: Watched): Promise<void>;
  reload(daemon: Watched): Promise<void>;
  stopping(): void;
  end(): Promise<void>;
}

/**
 * Begins with a long start. The database's answer is no sign of life, because a restart would not
 * help; the status shows it.
 * @param summary the fleet's state on one line.
 */
export function createService(
  manager: ServiceManager,
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  summary: () => string,
): Service {
  let timer: unknown;
  const every = (periodMs: number, step: () => void) => {
    clock.clearTimeout(timer);
    const next = () => {
      step();
      timer = clock.setTimeout(next, periodMs);
    };
    next();
  };
  const goOn = (maxMs: number, alsoTell: () => void = () => undefined) => {
    let leftMs = maxMs;
    every(STEP.everyMs, () => {
      if (leftMs > 0) manager.extend(STEP.forMs);
      leftMs -= STEP.everyMs;
      alsoTell();
    });
  };
  const statusOf = (daemon: Watched) =>
    `${standingOf(daemon.supervisor.getSnapshot())}; ${summary()}`;
  goOn(START_MAX_MS);
  let isStopping = false;
  let isReady = false;
  let told = '';
  const tellStatus = (daemon: Watched) => {
    const status = statusOf(daemon);
    if (status !== told && !isStopping) manager.status(status);
    told = status;
  };
  return {
    async started(daemon) {
      await firstTry(daemon);
      // A supervisor that crashed at once ends the process with the reason: it was never ready.
      if (isStopping || daemon.supervisor.getSnapshot().status === 'error') return;
      isReady = true;
      told = statusOf(daemon);
      manager.ready(told);
      const { watchdogMs } = manager;
      every(watchdogMs === null ? STATUS_MS : watchdogMs / SIGNS, () => {
        if (daemon.takesTurns()) manager.alive();
        tellStatus(daemon);
      });
      let standing = standingOf(daemon.supervisor.getSnapshot());
      daemon.supervisor.subscribe({
        next(snapshot) {
          const now = standingOf(snapshot);
          if (now !== standing) tellStatus(daemon);
          standing = now;
        },
        error: () => undefined,
      });
    },
    async reload(daemon) {
      if (!isReady) return daemon.reload();
      manager.reloading();
      await daemon.reload();
      if (!isStopping) manager.ready(statusOf(daemon));
    },
    stopping() {
      isStopping = true;
      manager.stopping();
      goOn(STOP_MAX_MS, () => manager.alive());
    },
    async end() {
      clock.clearTimeout(timer);
      await manager.close();
    },
  };
}

/** Resolves when a session is alive, failed to open, or is no longer opened. */
function firstTry({ supervisor }: Watched): Promise<void> {
  return new Promise((resolve) => {
    const isOver = (snapshot: SnapshotFrom<typeof fleet>) =>
      snapshot.status !== 'active' || standingOf(snapshot) !== OPENING;
    if (isOver(supervisor.getSnapshot())) return resolve();
    const over = () => {
      watching.unsubscribe();
      resolve();
    };
    const watching = supervisor.subscribe({
      next: (snapshot) => isOver(snapshot) && over(),
      error: over,
      complete: over,
    });
  });
}

const OPENING = 'opening a session';

function standingOf(snapshot: SnapshotFrom<typeof fleet>): string {
  const { failure } = snapshot.context;
  if (snapshot.matches({ active: { attended: 'working' } })) return 'at work';
  if (failure) return `no session, so work stops: ${failure.message}`;
  if (snapshot.matches('restarting')) return 'rebuilding itself after a crash';
  return snapshot.matches({ active: { attended: 'opening' } }) ? OPENING : 'stopping';
}
