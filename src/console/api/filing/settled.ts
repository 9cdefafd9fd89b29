import { sleep, type Clock } from '../../../adapters/clock/port.ts';

const FIRST_READ_MS = 100;
const READS_MAX_MS = 1_000;

export interface Patience {
  readonly clock: Clock;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** 0: not at all. */
  readonly waitMs: number;
}

/**
 * Reads again and again how something stands, until it is settled, or the time is over.
 * @param read must not throw for what passes: what cannot be read now is looked for again.
 */
export async function untilSettled<Standing>(
  filed: Standing,
  how: {
    readonly isOpen: (standing: Standing) => boolean;
    readonly read: (before: Standing) => Promise<Standing>;
  },
  { clock, signal, waitMs }: Patience,
): Promise<Standing> {
  const endMs = clock.monotonic() + waitMs;
  let standing = filed;
  for (let pauseMs = FIRST_READ_MS; how.isOpen(standing); pauseMs *= 2) {
    const leftMs = endMs - clock.monotonic();
    if (leftMs <= 0) break;
    try {
      await sleep(clock, Math.min(pauseMs, READS_MAX_MS, leftMs), signal);
    } catch {
      break; // Only the signal ends a pause early.
    }
    standing = await how.read(standing);
  }
  return standing;
}
