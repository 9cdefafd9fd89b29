import { fromCallback } from 'xstate';
import type { Bmdb, BmdbSession } from '../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { silentMetrics, type Metrics } from '../adapters/metrics/port.ts';
import { explain, SessionExpired } from '../domain/errors.ts';
import type { LoopSummary } from '../domain/daemons.ts';
import type { FleetEvent } from '../machines/fleet.ts';
import type { Leases } from './leases.ts';

/** Receives the result of each run of a loop. Neither throws nor waits. */
export interface Loop {
  succeeded(): void;
  failed(error: unknown): void;
}

export interface Loops {
  /** Runs the task, which extends the session, and records its duration. */
  timedPoke(task: () => Promise<void>): Promise<void>;
  /** Returns the loop of this name, and registers it. */
  of(name: string, periodMs: number, job?: string): Loop;
  all(): readonly LoopSummary[];
}

interface RunningLoop {
  readonly name: string;
  readonly periodMs: number;
  readonly job: string | null;
  /** On the monotonic clock, because the database clock may still be unknown. */
  successAt: number | null;
  failure: { readonly count: number; readonly at: number; readonly cause: string } | null;
}

/** @param nowMs database clock, epoch ms. */
export function createLoops(
  clock: Pick<Clock, 'monotonic'>,
  nowMs: () => number,
  metrics: Metrics = silentMetrics,
): Loops {
  const kept = new Map<string, RunningLoop>();
  const atMs = (at: number) => nowMs() - (clock.monotonic() - at);
  return {
    async timedPoke(task) {
      const begunAt = clock.monotonic();
      try {
        await task();
      } finally {
        const seconds = (clock.monotonic() - begunAt) / 1_000;
        metrics.observe('shepherd_session_poke_seconds', { processor: 'shepherd' }, seconds);
      }
    },
    of(name, periodMs, job) {
      const loop: RunningLoop = {
        name,
        periodMs,
        job: job ?? null,
        successAt: null,
        failure: null,
      };
      kept.set(name, loop);
      return {
        succeeded() {
          loop.successAt = clock.monotonic();
          loop.failure = null;
        },
        failed(error) {
          const count = (loop.failure?.count ?? 0) + 1;
          loop.failure = { count, at: clock.monotonic(), cause: explain(error) };
          metrics.count('shepherd_loop_errors_total', { loop: name });
        },
      };
    },
    all: () =>
      [...kept.values()].map(({ name, periodMs, job, successAt, failure }) => ({
        ...{ name, periodMs, job },
        lastSuccessAtMs: successAt === null ? null : atMs(successAt),
        failure: failure && {
          ...{ count: failure.count, cause: failure.cause },
          lastAtMs: atMs(failure.at),
        },
      })),
  };
}

/** Runs the task as one run of the loop. */
export async function runOf<Result>(loop: Loop, task: () => Promise<Result>): Promise<Result> {
  try {
    const result = await task();
    loop.succeeded();
    return result;
  } catch (error) {
    loop.failed(error);
    throw error;
  }
}

interface BmdbPeriods {
  readonly sessionMs: number;
  readonly readMs: number;
  readonly assessMs: number;
  readonly sweepMs: number;
}

/** Wraps the BMDB so that its calls report their results to the loops that depend on them. */
export function loopingBmdb(bmdb: Bmdb, loops: Loops, periods: BmdbPeriods): Bmdb {
  const session = loops.of('session', periods.sessionMs);
  const rows = loops.of('rows', periods.readMs);
  const guard = loops.of('guard', periods.assessMs);
  const sweep = loops.of('sweep', periods.sweepMs);
  const poking = (opened: BmdbSession): BmdbSession => ({
    ...opened,
    poke: () => runOf(session, () => loops.timedPoke(() => opened.poke())),
  });
  return {
    ...bmdb,
    openSession: (options) => runOf(session, async () => poking(await bmdb.openSession(options))),
    scan: (...asked) => runOf(rows, () => bmdb.scan(...asked)),
    changesSince: (...asked) => runOf(rows, () => bmdb.changesSince(...asked)),
    guard: { assess: (intake) => runOf(guard, () => bmdb.guard.assess(intake)) },
    sweep: () => runOf(sweep, () => bmdb.sweep()),
  };
}

/**
 * A service that repeats `task` while its state lasts, each time `periodMs` after its end. A
 * failure is logged and does not stop the loop.
 */
export const every = (
  periodMs: number,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  task: (signal: AbortSignal) => Promise<void>,
  failure: string,
) =>
  fromCallback<FleetEvent, void>(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const loop = async () => {
      while (!signal.aborted) {
        try {
          await task(signal);
        } catch (err) {
          if (!signal.aborted) log.warn({ err }, failure);
        }
        await sleep(clock, periodMs, signal).catch(() => undefined);
      }
    };
    void loop();
    return () => stopping.abort();
  });

export interface JobDeps {
  readonly leases: Pick<Leases, 'take'>;
  readonly loop: Loop;
  readonly clock: Clock;
  readonly log: Log;
}
interface Job {
  /** Name of its lease. */
  readonly job: string;
  /** Pause after a look, also after a failed one. */
  readonly periodMs: number;
  /** What is logged if a look fails. */
  readonly failure: string;
}

/**
 * Repeats a look while this daemon has the job. A failure does not stop it. Ends with the signal.
 * @param look may return another pause, in milliseconds.
 */
export async function repeatJob(
  { leases, loop, clock, log }: JobDeps,
  { job, periodMs, failure }: Job,
  look: () => Promise<number | void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let pauseMs = periodMs;
    try {
      await leases.take(job, signal);
      pauseMs = (await runOf(loop, look)) ?? periodMs;
    } catch (err) {
      const isPassing = signal.aborted || err instanceof SessionExpired;
      if (!isPassing) log.warn({ err }, failure);
    }
    await sleep(clock, pauseMs, signal).catch(() => undefined);
  }
}
