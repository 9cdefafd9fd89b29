import { AmbiguousCommit } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import { sleep } from '../../clock/port.ts';

/** How long important writes are retried. */
export const REPEAT_FOR_MS = 5_000;
const PAUSE_MS = 200;

export interface Repetition {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a retry may succeed soon. */
  readonly isPassing: (error: unknown) => boolean;
  /** End of retries, by `Clock.monotonic`. */
  readonly deadlineMs?: () => number;
  /** Ends the retries. */
  readonly signal?: AbortSignal;
}

/** Retries for `REPEAT_FOR_MS` while the error is a passing one. @throws the last error. */
export async function repeated<T>(how: Repetition, run: () => Promise<T>): Promise<T> {
  const { clock, random, isPassing, deadlineMs, signal } = how;
  const givenUpMs = clock.monotonic() + REPEAT_FOR_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const pauseMs = PAUSE_MS * (0.5 + random.next());
      const untilMs = Math.min(givenUpMs, deadlineMs?.() ?? givenUpMs);
      const isTooLate = signal?.aborted || clock.monotonic() + pauseMs >= untilMs;
      if (!isPassing(error) || isTooLate) throw error;
      await sleep(clock, pauseMs, signal);
    }
  }
}

/**
 * For an idempotent call: repeats it once if the answer to its COMMIT was lost.
 * @throws {AmbiguousCommit} the second answer was lost, too.
 */
export async function repeatedOnce<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
    return run();
  }
}
