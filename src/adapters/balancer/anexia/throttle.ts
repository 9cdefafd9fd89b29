import type { Clock } from '../../clock/port.ts';

/** Until when an account may not be asked. All balancers of the account share one. */
export interface Throttle {
  /** Epoch milliseconds; null: it may be asked now. */
  heldUntilMs(): number | null;
  /**
   * The account asked us to stay away.
   * @param askedMs 0: it said no time; then 60 s, twice as long each time, at most 30 min.
   * @returns for how long, milliseconds.
   */
  hold(askedMs: number): number;
  /** The account answered as usual. */
  answered(): void;
}

const UNASKED_MS = 60_000;
const UNASKED_MAX_MS = 30 * 60_000;

export function createThrottle(clock: Pick<Clock, 'now'>): Throttle {
  let untilMs = 0;
  let unasked = 0;
  const heldMs = () => Math.max(0, untilMs - clock.now());
  return {
    heldUntilMs: () => (heldMs() > 0 ? untilMs : null),
    hold(askedMs) {
      // Answers to calls that were under way together count as one.
      if (askedMs === 0 && heldMs() > 0) return heldMs();
      const waitMs = askedMs > 0 ? askedMs : Math.min(UNASKED_MAX_MS, UNASKED_MS * 2 ** unasked++);
      untilMs = Math.max(untilMs, clock.now() + waitMs);
      return heldMs();
    },
    answered() {
      if (heldMs() === 0) unasked = 0;
    },
  };
}

/** The throttles of all accounts that this process uses. */
export interface Throttles {
  of(baseUrl: string, tokenReference: string, clock: Pick<Clock, 'now'>): Throttle;
}

export function createThrottles(): Throttles {
  const accounts = new Map<string, Throttle>();
  return {
    of(baseUrl, tokenReference, clock) {
      const account = `${baseUrl} ${tokenReference}`;
      const known = accounts.get(account) ?? createThrottle(clock);
      accounts.set(account, known);
      return known;
    },
  };
}
