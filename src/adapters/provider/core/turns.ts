import type { Clock } from '../../clock/port.ts';

/** When calls of a driver may begin. */
export interface Turns {
  /**
   * Runs the task when its turn comes: urgent ones first, else first come, first served. Rejects
   * with the signal's reason when it aborts before.
   */
  run<T>(task: () => Promise<T>, options: TurnOptions): Promise<T>;
}

export interface TurnOptions {
  readonly signal: AbortSignal;
  readonly urgent: boolean;
}

export interface TurnLimits {
  /** Calls at once. */
  readonly maxConcurrency: number;
  /** Of all daemons together; 0: any number. */
  readonly callsPerSecond: number;
}

export interface TurnDeps {
  readonly clock: Clock;
  /** Live daemons; each takes its part of the budget. */
  daemons(): number;
}

interface Waiter {
  readonly urgent: boolean;
  begin(): Promise<void>;
}

/**
 * Limits how many calls run and how close together they begin. Not built on bottleneck: it reads
 * the wall clock and sets timers by itself, so it could not follow an injected clock, and a queued
 * job of it cannot leave when its signal aborts.
 */
export function createTurns(limits: TurnLimits, { clock, daemons }: TurnDeps): Turns {
  const queue: Waiter[] = [];
  let running = 0;
  let begunMs = -Infinity;
  let timer: unknown;

  const gapMs = () =>
    limits.callsPerSecond > 0 ? (1_000 / limits.callsPerSecond) * Math.max(1, daemons()) : 0;
  const waitMs = () => begunMs + gapMs() - clock.monotonic();

  function pump(): void {
    clock.clearTimeout(timer);
    while (queue.length > 0 && running < limits.maxConcurrency) {
      if (waitMs() > 0) {
        timer = clock.setTimeout(pump, Math.ceil(waitMs()));
        return;
      }
      const at = Math.max(
        0,
        queue.findIndex(({ urgent }) => urgent),
      );
      void begin(queue.splice(at, 1)[0]!);
    }
  }

  async function begin(waiter: Waiter): Promise<void> {
    running += 1;
    begunMs = clock.monotonic();
    await waiter.begin();
    running -= 1;
    pump();
  }

  return {
    run: (task, { signal, urgent }) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0) clock.clearTimeout(timer);
          reject(signal.reason as Error);
        };
        const waiter: Waiter = {
          urgent,
          async begin() {
            signal.removeEventListener('abort', leave);
            await task().then(resolve, reject);
          },
        };
        if (signal.aborted) return reject(signal.reason as Error);
        signal.addEventListener('abort', leave, { once: true });
        queue.push(waiter);
        pump();
      }),
  };
}
