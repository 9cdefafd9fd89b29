import type { Clock } from '../clock/port.ts';

/** A limit of time that stands still while what it limits waits for a turn. */
export interface TimeLimit {
  readonly leftMs: () => number;
  /** A wait for a turn begins. Call what it answers with when the wait is over. Waits may overlap. */
  readonly wait: () => () => void;
  /** Nothing is limited any more. */
  readonly end: () => void;
}

/**
 * @param limitMs may be infinite.
 * @param onOver is called once, when the time is used up; without it no timer is set.
 */
export function startTimeLimit(
  limitMs: number,
  clock: Pick<Clock, 'monotonic' | 'setTimeout' | 'clearTimeout'>,
  onOver?: () => void,
): TimeLimit {
  const isTimed = onOver !== undefined && limitMs !== Infinity;
  let usedMs = 0;
  let sinceMs = clock.monotonic();
  let waits = 0;
  let isOver = false;
  let timer: unknown;
  const leftMs = () => limitMs - usedMs - (waits === 0 ? clock.monotonic() - sinceMs : 0);
  const arm = (delayMs: number) => (timer = clock.setTimeout(look, delayMs));
  /** Waits leave the timer as it is: what they put off is found out when it fires. */
  function look() {
    timer = undefined;
    if (waits > 0 || isOver) return;
    if (leftMs() > 0) return void arm(leftMs());
    isOver = true;
    onOver?.();
  }
  if (isTimed) arm(limitMs);

  return {
    leftMs,
    wait() {
      if (waits === 0) usedMs += clock.monotonic() - sinceMs;
      waits += 1;
      let hasTurn = false;
      return () => {
        if (hasTurn) return;
        hasTurn = true;
        waits -= 1;
        if (waits > 0) return;
        sinceMs = clock.monotonic();
        if (timer === undefined && isTimed) look();
      };
    },
    end() {
      isOver = true;
      clock.clearTimeout(timer);
    },
  };
}
