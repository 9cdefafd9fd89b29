import { connect } from 'node:net';
import Bottleneck from 'bottleneck';
import { sleep, type Clock } from '../../clock/port.ts';
import type { Network } from '../../network/port.ts';
import { createTurns } from '../turns.ts';

/** SSH endpoint of a machine. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  /** How long an answer is valid. */
  readonly intervalMs: number;
  /** At once. */
  readonly parallelism: number;
  /** Minimum time between two starts, so that a large inventory causes no burst. */
  readonly gapMs: number;
  /** How long a listing waits for answers; later answers are for the next one. */
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
    /** Probes targets without a recent answer, and waits briefly for the answers. */
    async look(targets: readonly Target[], signal: AbortSignal): Promise<void> {
      const due = targets.filter((target) => {
        const { atMs } = seen.get(keyOf(target)) ?? { atMs: -Infinity };
        return clock.monotonic() - atMs >= limits.intervalMs;
      });
      // Marked as probed, so that the next listing does not probe again.
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
    /** The last answer; null: none yet. */
    answers: (target: Target): boolean | null => seen.get(keyOf(target))?.answers ?? null,
  };
}
/** Whether machines' SSH ports accept connections. */
export type Probes = ReturnType<typeof createProbes>;

type Pace = (probe: () => Promise<void>) => Promise<void>;

/** Sockets use the wall clock, and so does this limiter. Waiting probes end without a run. */
function pacedByWall({ parallelism, gapMs }: ProbeLimits, lifetime: AbortSignal): Pace {
  const limiter = new Bottleneck({ maxConcurrent: parallelism, minTime: gapMs });
  const stop = () => limiter.stop({ dropWaitingJobs: true });
  lifetime.addEventListener('abort', () => void stop().catch(() => undefined), { once: true });
  return (probe) => unlessOver(limiter.schedule(probe), lifetime);
}

/** An in-memory network uses its own clock. */
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

/** Whether the address accepts connections; also false if the signal aborts. */
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
