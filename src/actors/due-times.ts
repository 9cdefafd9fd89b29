import type { Clock } from '../adapters/clock/port.ts';

/** One timer for many due times. */
export interface DueTimes<Key> {
  /** Calls back at `atMs` or soon after; null forgets the key. Time as of `now`. */
  set(key: Key, atMs: number | null): void;
  /** No call comes any more, whatever is set later. */
  stop(): void;
}

const MAX_SLEEP_MS = 60_000;
/** Keys of one call: what is due beyond that comes a moment later. */
const TURN_MAX = 200;

/**
 * `now` gives the time that due times are meant in (epoch ms of the database). The timer goes by the
 * earliest due time that there was; when it fires, and that one was moved, it is set anew.
 */
export function createDueTimes<Key>(
  clock: Clock,
  now: () => number,
  onDue: (keys: Key[]) => void,
): DueTimes<Key> {
  const due = new Map<Key, number>();
  let timer: unknown;
  let timerAtMs = Infinity;
  let stopped = false;

  const arm = (atMs: number) => {
    if (stopped || atMs >= timerAtMs) return;
    clock.clearTimeout(timer);
    timerAtMs = atMs;
    timer = clock.setTimeout(turn, Math.min(MAX_SLEEP_MS, Math.max(1, atMs - now() + 1)));
  };
  const turn = () => {
    timerAtMs = Infinity;
    const nowMs = now();
    const ripe = [...due].filter(([, atMs]) => atMs <= nowMs).toSorted(([, a], [, b]) => a - b);
    const keys = ripe.slice(0, TURN_MAX).map(([key]) => key);
    for (const key of keys) due.delete(key);
    if (keys.length > 0) onDue(keys);
    let nextAtMs = Infinity;
    for (const atMs of due.values()) nextAtMs = Math.min(nextAtMs, atMs);
    arm(nextAtMs);
  };
  return {
    set(key, atMs) {
      if (atMs === null) {
        due.delete(key);
        return;
      }
      due.set(key, atMs);
      arm(atMs);
    },
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
    },
  };
}
