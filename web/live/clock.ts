import { createStore, useStore } from './store.ts';

/** The time of the database when it was last told, and when that was by the clock of this page. */
interface Base {
  readonly atMs: number;
  readonly seenAt: number;
}

let base: Base | null = null;
const ticks = createStore(0);

/** Epoch ms of the database's clock: what it told last, plus what passed here since. 0: not known yet. */
export const nowMs = (): number =>
  base === null ? 0 : base.atMs + performance.now() - base.seenAt;

const SOONEST_LOOK_MS = 500;
/** What was due so long ago, and is still told, is not waited for any more. */
const OVERDUE_MS = 10_000;

/**
 * When to look again at what the clock changes, ms from now: as soon as a time that was told is there,
 * else after `mostMs`.
 */
export function untilLook(mostMs: number, times: readonly (number | null)[] = []): number {
  const left = times.flatMap((atMs) => (atMs === null ? [] : [atMs - nowMs()]));
  const next = Math.min(mostMs, ...left.filter((ms) => ms > -OVERDUE_MS));
  return Math.max(SOONEST_LOOK_MS, next);
}

/** Takes the database's time; the clock of the reader's machine is never asked. */
export function setClock(atMs: number): void {
  base = { atMs, seenAt: performance.now() };
  ticks.set(ticks.get() + 1);
}

/** Redraws whoever shows a time, once a second, while somebody can see it. */
export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) ticks.set(ticks.get() + 1);
  }, 1000);
}

/** `nowMs`, again each second. */
export function useNow(): number {
  useStore(ticks);
  return nowMs();
}
