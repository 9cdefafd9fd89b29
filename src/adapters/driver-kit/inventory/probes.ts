import { connect } from 'node:net';
import Bottleneck from 'bottleneck';
import { sleep, type Clock } from '../../clock/port.ts';
import type { Network } from '../../network/port.ts';
import { createTurns } from '../turns.ts';

/** Where a machine's SSH is. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  /** An answer is believed for this long. */
  readonly intervalMs: number;
  /** At once. */
  readonly parallelism: number;
  /** Least distance of two starts, so that a large inventory is no burst on the network. */
  readonly gapMs: number;
  /** A listing waits this long for answers; the others come to a later one. */
  readonly patienceMs: number;
}

interface ProbeDeps {
  readonly clock: Clock;
  /** TCP if absent. */
  readonly network?: Network | undefined;
}

/** @param lifetime ends all probes. */
export function createProbes(limits: ProbeLimits, deps: ProbeDeps, lifetime: AbortSignal) {
  const { clock } = deps;
  const seen = new Map<string, { answers: boolean | null; atMs: number }>();
  const inTurn = deps.network
    ? pacedByClock(limits, deps, lifetime)
    : pacedByWall(limits, lifetime);

  async function probe(target: Target): Promise<void> {
    const { timeoutMs } = limits;
    const answers = await listensAt(target, { ...deps, timeoutMs, signal: lifetime });
    if (!lifetime.aborted) seen.set(keyOf(target), { answers, atMs: clock.monotonic() });
  }

  return {
    /** Looks at those that were not looked at lately, and waits a little for the answers. */
    async look(targets: readonly Target[], signal: AbortSignal): Promise<void> {
      const due = targets.filter((target) => {
        const { atMs } = seen.get(keyOf(target)) ?? { atMs: -Infinity };
        return clock.monotonic() - atMs >= limits.intervalMs;
      });
      // Due no more, so that the next listing does not ask a second time.
      for (const target of due) {
        const { answers = null } = seen.get(keyOf(target)) ?? {};
        seen.set(keyOf(target), { answers, atMs: clock.monotonic() });
      }
      const patience = new AbortController();
      const ends = AbortSignal.any([patience.signal, signal]);
      const all = Promise.all(due.map((target) => inTurn(() => probe(target))));
      const waited = sleep(clock, limits.patienceMs, ends).catch(() => undefined);
      await Promise.race([all, waited]);
      patience.abort();
    },
    /** Forgets all others. */
    keep(targets: readonly Target[]): void {
      const kept = new Set(targets.map(keyOf));
      for (const key of seen.keys()) if (!kept.has(key)) seen.delete(key);
    },
    /** What is known; null: nothing yet. */
    answers: (target: Target): boolean | null => seen.get(keyOf(target))?.answers ?? null,
  };
}
/** Whether somebody listens where a machine's SSH should be. */
export type Probes = ReturnType<typeof createProbes>;

type Pace = (probe: () => Promise<void>) => Promise<void>;

/** Sockets keep to the wall clock anyway, as this limiter does. Probes that wait at the end are dropped. */
function pacedByWall({ parallelism, gapMs }: ProbeLimits, lifetime: AbortSignal): Pace {
  const limiter = new Bottleneck({ maxConcurrent: parallelism, minTime: gapMs });
  const stop = () => limiter.stop({ dropWaitingJobs: true });
  lifetime.addEventListener('abort', () => void stop().catch(() => undefined), { once: true });
  return (probe) => unlessOver(limiter.schedule(probe), lifetime);
}

/** A network in memory keeps to the clock of its world. */
function pacedByClock(
  { parallelism, gapMs }: ProbeLimits,
  { clock }: ProbeDeps,
  lifetime: AbortSignal,
): Pace {
  const turns = createTurns({ maxConcurrency: parallelism, gapMs }, { clock });
  return (probe) =>
    unlessOver(
      turns.take({ signal: lifetime }).then((end) => probe().finally(end)),
      lifetime,
    );
}

const unlessOver = (probed: Promise<void>, lifetime: AbortSignal): Promise<void> =>
  probed.catch((error: unknown) => {
    if (!lifetime.aborted) throw error;
  });

const keyOf = ({ host, port }: Target): string => `${host} ${port}`;

/** Whether anybody takes a connection there; false, too, when the signal aborts. */
export function listensAt(
  { host, port }: Target,
  how: ProbeDeps & { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const { timeoutMs, clock, network, signal } = how;
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = network ? network.connect({ host, port }) : connect({ host, port });
    const end = (answers: boolean) => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      socket.destroy();
      resolve(answers);
    };
    const leave = () => end(false);
    const timer = clock.setTimeout(leave, timeoutMs);
    signal.addEventListener('abort', leave, { once: true });
    socket.once('connect', () => end(true));
    socket.on('error', leave);
  });
}
