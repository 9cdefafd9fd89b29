import { connect } from 'node:net';
import Bottleneck from 'bottleneck';
import { type Clock, sleep } from '../../clock/port.ts';

/** Where a machine's SSH is. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Whether somebody listens where a machine's SSH should be. */
export interface Probes {
  /** Looks at those that were not looked at lately, and waits a little for the answers. */
  look(targets: readonly Target[], signal: AbortSignal): Promise<void>;
  /** Forgets all others. */
  keep(targets: readonly Target[]): void;
  /** What is known; null: nothing yet. */
  answers(target: Target): boolean | null;
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

/** @param lifetime ends all probes. */
export function createProbes(limits: ProbeLimits, clock: Clock, lifetime: AbortSignal): Probes {
  const seen = new Map<string, { answers: boolean | null; atMs: number }>();
  // Sockets keep to the wall clock anyway, as this limiter does.
  const limiter = new Bottleneck({ maxConcurrent: limits.parallelism, minTime: limits.gapMs });
  const stop = () => limiter.stop({ dropWaitingJobs: true });
  lifetime.addEventListener('abort', () => void stop().catch(() => undefined), { once: true });

  async function probe(target: Target): Promise<void> {
    const answers = await listensAt(target, {
      timeoutMs: limits.timeoutMs,
      clock,
      signal: lifetime,
    });
    if (!lifetime.aborted) seen.set(keyOf(target), { answers, atMs: clock.monotonic() });
  }

  /** Those that still wait at the end are dropped. */
  const inTurn = (target: Target): Promise<void> =>
    limiter
      .schedule(() => probe(target))
      .catch((error: unknown) => {
        if (!lifetime.aborted) throw error;
      });

  return {
    async look(targets, signal) {
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
      const all = Promise.all(due.map((target) => inTurn(target)));
      const waited = sleep(clock, limits.patienceMs, ends).catch(() => undefined);
      await Promise.race([all, waited]);
      patience.abort();
    },
    keep(targets) {
      const kept = new Set(targets.map(keyOf));
      for (const key of seen.keys()) if (!kept.has(key)) seen.delete(key);
    },
    answers: (target) => seen.get(keyOf(target))?.answers ?? null,
  };
}

const keyOf = ({ host, port }: Target): string => `${host} ${port}`;

/** Whether anybody takes a connection there; false, too, when the signal aborts. */
export function listensAt(
  { host, port }: Target,
  { timeoutMs, clock, signal }: { timeoutMs: number; clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host, port });
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
