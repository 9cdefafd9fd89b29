import type { Clock } from '../clock/port.ts';

/** The token that the server refused, for as long as nobody needs to try it again. */
export interface TokenRefusal {
  note(token: string): void;
  /** Whether this token is known to be refused. */
  holds(token: string): boolean;
}

/**
 * A refused token stays refused for `pauseMs`, or until the source gives another one.
 * @param deps `onPaused` hears how long calls were kept from the server, once that is over.
 */
export function createRefusal(
  pauseMs: number,
  deps: { readonly clock: Clock; readonly onPaused: (pausedMs: number) => void },
): TokenRefusal {
  const { clock, onPaused } = deps;
  let refused: { readonly token: string; readonly sinceMs: number } | null = null;
  return {
    note(token) {
      refused ??= { token, sinceMs: clock.monotonic() };
      if (refused.token !== token) refused = { token, sinceMs: clock.monotonic() };
    },
    holds(token) {
      if (!refused) return false;
      const sinceMs = clock.monotonic() - refused.sinceMs;
      if (refused.token === token && sinceMs < pauseMs) return true;
      onPaused(Math.min(sinceMs, pauseMs));
      refused = null;
      return false;
    },
  };
}
