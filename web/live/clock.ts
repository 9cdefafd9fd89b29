import { createStore, useStore } from './store.ts';

/** The last known time of the database, and the time of this page's clock at that moment. */
interface Base {
  readonly atMs: number;
  readonly seenAt: number;
}

let base: Base | null = null;
const ticks = createStore(0);

/** The time of the database, epoch ms: the last known time plus the time that passed since then. 0: not known yet. */
export const nowMs = (): number =>
  base === null ? 0 : base.atMs + performance.now() - base.seenAt;

const SOONEST_LOOK_MS = 500;
/** A moment that passed this long ago no longer triggers a new read. */
const OVERDUE_MS = 10_000;

/**
 * When to read data again that changes with the clock, ms from now: at the first known moment, or after
 * `mostMs`.
 */
export function untilLook(mostMs: number, times: readonly (number | null)[] = []): number {
  const left = times.flatMap((atMs) => (atMs === null ? [] : [atMs - nowMs()]));
  const next = Math.min(mostMs, ...left.filter((ms) => ms > -OVERDUE_MS));
  return Math.max(SOONEST_LOOK_MS, next);
}

/** Sets the time of the database. The page never uses the clock of the reader's computer. */
export function setClock(atMs: number): void {
  base = { atMs, seenAt: performance.now() };
  ticks.set(ticks.get() + 1);
}

/** Redraws shown times once a second while the page is visible. */
export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) ticks.set(ticks.get() + 1);
  }, 1000);
}

/** `nowMs`, updated each second. */
export function useNow(): number {
  useStore(ticks);
  return nowMs();
}
