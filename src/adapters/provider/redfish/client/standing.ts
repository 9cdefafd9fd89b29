import type { Clock } from '../../../clock/port.ts';

/** How a BMC has answered lately. */
export interface Standing {
  replied(status: number): void;
  /** `silent`: it may have taken the connection, and said nothing of use. */
  failed(failure: { readonly silent: boolean }): void;
  /** It asked to be left alone until then, epoch milliseconds. */
  busyUntil(atMs: number): void;
  /** Milliseconds until it is worth a reading; 0: it may be asked now. Changes are tried whenever. */
  restMs(): number;
  /** It has not answered one request for long, and is not known to refuse connections. */
  isSilent(): boolean;
  /** It is on its way there. */
  isTroubled(): boolean;
}

const REST_FIRST_MS = 5_000;
const REST_MOST_MS = 5 * 60_000;
const TROUBLE_FAILURES = 3;
const HANG_FAILURES = 10;
const HANG_MS = 15 * 60_000;

export function createStanding(clock: Clock): Standing {
  let failures = 0;
  let restUntilMs = -Infinity;
  let silence: { readonly sinceMs: number; count: number } | null = null;

  function note(silent: boolean) {
    const restMs = Math.min(REST_MOST_MS, REST_FIRST_MS * 2 ** Math.min(failures, 20));
    failures += 1;
    restUntilMs = Math.max(restUntilMs, clock.monotonic() + restMs);
    // One that takes no connections is off or away, and no restart would help.
    if (!silent) silence = null;
    else if (silence) silence.count += 1;
    else silence = { sinceMs: clock.monotonic(), count: 1 };
  }

  return {
    replied(status) {
      if (status >= 500 && status !== 501) return note(true);
      failures = 0;
      restUntilMs = -Infinity;
      silence = null;
      return undefined;
    },
    failed: ({ silent }) => note(silent),
    busyUntil(atMs) {
      restUntilMs = Math.max(restUntilMs, clock.monotonic() + atMs - clock.now());
    },
    restMs: () => Math.max(0, restUntilMs - clock.monotonic()),
    isTroubled: () => silence !== null && silence.count >= TROUBLE_FAILURES,
    isSilent: () =>
      silence !== null &&
      silence.count >= HANG_FAILURES &&
      clock.monotonic() - silence.sinceMs >= HANG_MS,
  };
}
