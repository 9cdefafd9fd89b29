import type { FakeClock } from './clock.ts';
import type { State, Timer, TimerKind } from './state.ts';

/** Timers that live in the state, so that they survive a restart. */
export interface Scheduler {
  add(kind: TimerKind, subject: string, delayMs: number): void;
  /** Drops the subject's timers, or only those of the given kinds. */
  cancel(subject: string, kinds?: readonly TimerKind[]): void;
  has(subject: string): boolean;
  /** From now on due timers run, the overdue ones at once. */
  start(run: (timer: Timer) => void): void;
  /** After the state was replaced. */
  rearm(): void;
  stop(): void;
}

/** Far below the limit of the runtime's timers (2^31 ms), so a long wait is taken in steps. */
const STEP_MS = 3_600_000;

export function createScheduler(state: State, clock: FakeClock, now: () => number): Scheduler {
  let armed: unknown;
  let run: ((timer: Timer) => void) | undefined;
  const disarm = () => {
    if (armed !== undefined) clock.clearTimeout(armed);
    armed = undefined;
  };
  const rearm = () => {
    disarm();
    const first = state.timers[0];
    if (!run || !first) return;
    armed = clock.setTimeout(fire, Math.min(STEP_MS, Math.max(0, first.dueAtMs - now())));
  };
  const fire = () => {
    armed = undefined;
    for (let next = state.timers[0]; next && next.dueAtMs <= now(); next = state.timers[0]) {
      state.timers.shift();
      run?.(next);
    }
    rearm();
  };
  return {
    add: (kind, subject, delayMs) => {
      const timer = { id: ++state.lastTimerId, dueAtMs: now() + delayMs, kind, subject };
      const at = state.timers.findLastIndex((one) => one.dueAtMs <= timer.dueAtMs) + 1;
      state.timers.splice(at, 0, timer);
      if (at === 0) rearm();
    },
    cancel: (subject, kinds) => {
      state.timers = state.timers.filter(
        (one) => one.subject !== subject || (kinds !== undefined && !kinds.includes(one.kind)),
      );
      rearm();
    },
    has: (subject) => state.timers.some((one) => one.subject === subject),
    start: (handler) => {
      run = handler;
      rearm();
    },
    rearm,
    stop: () => {
      run = undefined;
      disarm();
    },
  };
}
