import { SessionExpired } from '../../../domain/errors.ts';
import type { SessionId } from '../../../domain/ids.ts';
import type { Clock } from '../../clock/port.ts';

/** The local deadline: from the start of the last successful poke, on the monotonic clock. */
export interface SessionDeadline {
  readonly signal: AbortSignal;
  deadlineMs(): number;
  remainingMs(): number;
  extend(pokeStartedMs: number): void;
  expire(reason: SessionExpired): void;
}

/** The deadline counts as passed until it is first extended. */
export function createSessionDeadline(
  clock: Clock,
  id: SessionId,
  intervalMs: number,
): SessionDeadline {
  const controller = new AbortController();
  let deadline = Number.NEGATIVE_INFINITY;
  let timer: unknown;
  const expire = (reason: SessionExpired) => {
    clock.clearTimeout(timer);
    controller.abort(reason);
  };
  const lapse = () =>
    expire(new SessionExpired(`session ${id} was not extended within ${intervalMs} ms`));
  return {
    signal: controller.signal,
    deadlineMs: () => deadline,
    remainingMs: () => (controller.signal.aborted ? 0 : Math.max(0, deadline - clock.monotonic())),
    extend: (pokeStartedMs) => {
      if (controller.signal.aborted) return;
      deadline = Math.max(deadline, pokeStartedMs + intervalMs);
      clock.clearTimeout(timer);
      timer = clock.setTimeout(lapse, Math.max(0, deadline - clock.monotonic()));
    },
    expire,
  };
}
