import { AmbiguousCommit } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import { sleep } from '../../clock/port.ts';

/** For how long what must not be lost is tried again. */
export const REPEAT_FOR_MS = 5_000;
const PAUSE_MS = 200;

export interface Repetition {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether it may go better soon. */
  readonly isPassing: (error: unknown) => boolean;
  /** No longer than until then (result of `Clock.monotonic`). */
  readonly deadlineMs?: () => number;
  /** Ends the trying. */
  readonly signal?: AbortSignal;
}

/** Tries again for `REPEAT_FOR_MS`, while it fails for what passes. @throws the last error. */
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
 * For what may safely be done twice: once more when the answer to its COMMIT was lost.
 * @throws {AmbiguousCommit} that of the second time was lost, too.
 */
export async function repeatedOnce<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
    return run();
  }
}
