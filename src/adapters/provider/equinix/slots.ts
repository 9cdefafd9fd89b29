import Bottleneck from 'bottleneck';
import type { Clock } from '../../clock/port.ts';

/** Which attempts may run now. A slot is held for one HTTP attempt, never while an operation sleeps. */
export interface Slots {
  /**
   * Runs the task when its turn comes: first come, first served within its class. Bulk tasks hold
   * at most all slots but one. Rejects with the signal's reason when aborted while waiting.
   */
  run<T>(task: () => Promise<T>, options: SlotOptions): Promise<T>;
  /** Starts nothing for `delayMs`; afterwards one trial task runs alone first. */
  pause(delayMs: number): void;
  /** Milliseconds until a pause ends; 0 without one. */
  pausedMs(): number;
  /** Whoever waits is left to its signal. */
  stop(): void;
}

export interface SlotOptions {
  readonly signal: AbortSignal;
  readonly bulk: boolean;
  /** Asked when a pause of this length begins; an answer ends the waiting with it. */
  readonly onPause: (delayMs: number) => Error | undefined;
}

interface Waiter {
  readonly bulk: boolean;
  start(): Promise<void>;
  paused(delayMs: number): void;
}

/**
 * @param limits `parallelism`: tasks at once. `apiRateMs`: least distance between two planned
 * starts, 0 = any; a late start does not put off the next one.
 * @param deps `onChange` hears how many wait and run after every change.
 */
export function createSlots(
  limits: { readonly parallelism: number; readonly apiRateMs: number },
  deps: { clock: Clock; onChange: (waiting: number, inFlight: number) => void },
): Slots {
  const { clock } = deps;
  const limiter = new Bottleneck({
    maxConcurrent: limits.parallelism,
    minTime: limits.apiRateMs,
  });
  const bulkMax = Math.max(1, limits.parallelism - 1);
  const queue: Waiter[] = [];
  let inFlight = 0;
  let bulkInFlight = 0;
  let ticketIssued = false;
  let pausedUntilMs = 0;
  let pauseTimer: unknown;
  let trial: 'none' | 'due' | 'running' = 'none';

  const pausedMs = () => Math.max(0, pausedUntilMs - clock.monotonic());
  const report = () => deps.onChange(queue.length, inFlight);
  const nextWaiter = () =>
    pausedMs() > 0 || trial === 'running'
      ? undefined
      : queue.find((waiter) => !waiter.bulk || bulkInFlight < bulkMax);

  /** At most one ticket is queued at the limiter, so that those who left cost no turn. */
  function pump() {
    if (ticketIssued || !nextWaiter()) return;
    ticketIssued = true;
    limiter.schedule(useTicket).then(pump, () => undefined /* the limiter was stopped */);
  }

  function endPause() {
    pausedUntilMs = 0;
    pump();
  }

  async function useTicket() {
    ticketIssued = false;
    const waiter = nextWaiter();
    if (!waiter) return;
    queue.splice(queue.indexOf(waiter), 1);
    const tries = trial === 'due';
    if (tries) trial = 'running';
    count(waiter, 1);
    pump();
    await waiter.start();
    if (tries && trial === 'running') trial = 'none';
    count(waiter, -1);
  }

  function count(waiter: Waiter, change: 1 | -1) {
    inFlight += change;
    if (waiter.bulk) bulkInFlight += change;
    report();
  }

  return {
    run: (task, { signal, bulk, onPause }) =>
      new Promise((resolve, reject) => {
        const waiter: Waiter = {
          bulk,
          start: async () => {
            signal.removeEventListener('abort', leave);
            await task().then(resolve, reject);
          },
          paused: (delayMs) => {
            const error = onPause(delayMs);
            if (error) leaveWith(error);
          },
        };
        const leaveWith = (reason: Error) => {
          signal.removeEventListener('abort', leave);
          queue.splice(queue.indexOf(waiter), 1);
          report();
          reject(reason);
        };
        const leave = () => leaveWith(signal.reason as Error);
        if (signal.aborted) return reject(signal.reason as Error);
        signal.addEventListener('abort', leave, { once: true });
        queue.push(waiter);
        report();
        pump();
      }),
    pause(delayMs) {
      pausedUntilMs = Math.max(pausedUntilMs, clock.monotonic() + delayMs);
      trial = 'due';
      clock.clearTimeout(pauseTimer);
      pauseTimer = clock.setTimeout(endPause, pausedMs());
      for (const waiter of [...queue]) waiter.paused(pausedMs());
    },
    pausedMs,
    stop() {
      clock.clearTimeout(pauseTimer);
      void limiter.stop({ dropWaitingJobs: true }).catch(() => undefined);
    },
  };
}
