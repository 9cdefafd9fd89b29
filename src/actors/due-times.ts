import TinyQueue from 'tinyqueue';
import type { Clock } from '../adapters/clock/port.ts';

/** One timer for many due times. Moving a key to a later time is lazy. */
export interface DueTimes<Key> {
  /** Calls back at `atMs` or soon after; null forgets the key. Time as of `now`. */
  set(key: Key, atMs: number | null): void;
  /** Stops all later calls. */
  stop(): void;
}

interface Entry<Key> {
  readonly key: Key;
  readonly atMs: number;
}

/** `now` is the clock of the due times (epoch ms of the database). */
export function createDueTimes<Key>(
  clock: Clock,
  now: () => number,
  onDue: (keys: Key[]) => void,
): DueTimes<Key> {
  const heap = new TinyQueue<Entry<Key>>([], (a, b) => a.atMs - b.atMs);
  const due = new Map<Key, number>();
  /** Earliest heap entry of each key, so that a moved due time adds no second entry. */
  const queued = new Map<Key, number>();
  const MAX_SLEEP_MS = 60_000;
  /** Maximum number of keys per callback; the rest follows a moment later. */
  const TURN_MAX = 200;
  let timer: unknown;
  let timerAtMs = Infinity;
  let stopped = false;

  const arm = () => {
    const next = heap.peek();
    if (stopped || !next || next.atMs >= timerAtMs) return;
    clock.clearTimeout(timer);
    timerAtMs = next.atMs;
    timer = clock.setTimeout(turn, Math.min(MAX_SLEEP_MS, Math.max(1, next.atMs - now() + 1)));
  };
  const push = (key: Key, atMs: number) => {
    const there = queued.get(key);
    if (there !== undefined && there <= atMs) return;
    queued.set(key, atMs);
    heap.push({ key, atMs });
  };
  const turn = () => {
    timerAtMs = Infinity;
    const keys: Key[] = [];
    const nowMs = now();
    for (let top = heap.peek(); top && top.atMs <= nowMs; top = heap.peek()) {
      if (keys.length === TURN_MAX) break;
      heap.pop();
      if (queued.get(top.key) !== top.atMs) continue;
      queued.delete(top.key);
      const atMs = due.get(top.key);
      if (atMs === undefined) continue;
      if (atMs <= nowMs) {
        due.delete(top.key);
        keys.push(top.key);
      } else {
        push(top.key, atMs);
      }
    }
    if (keys.length > 0) onDue(keys);
    arm();
  };
  return {
    set(key, atMs) {
      if (atMs === null) {
        due.delete(key);
        return;
      }
      due.set(key, atMs);
      push(key, atMs);
      arm();
    },
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
    },
  };
}
