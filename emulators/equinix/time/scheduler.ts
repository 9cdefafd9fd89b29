import TinyQueue from 'tinyqueue';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { State, Timer, TimerKind } from '../state/state.ts';

/** Timers that live in the state, so that they survive a restart. Every call costs O(log n). */
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

/** Earliest first; of those due together, the one that was set first. */
export const byDueTime = (a: Timer, b: Timer) => a.dueAtMs - b.dueAtMs || a.id - b.id;

export function createScheduler(state: State, clock: EmulatorClock, now: () => number): Scheduler {
  let armed: unknown;
  let armedForMs = Infinity;
  let run: ((timer: Timer) => void) | undefined;
  let queue = new TinyQueue<Timer>([], byDueTime);

  const isAlive = (timer: Timer) => state.timers.get(timer.subject)?.includes(timer) === true;
  /** The earliest timer that was not cancelled. */
  const first = (): Timer | undefined => {
    for (let top = queue.peek(); top; top = queue.peek()) {
      if (isAlive(top)) return top;
      queue.pop();
    }
    return undefined;
  };
  const keep = (subject: string, timers: Timer[]) => {
    if (timers.length > 0) state.timers.set(subject, timers);
    else state.timers.delete(subject);
  };
  const disarm = () => {
    if (armed !== undefined) clock.clearTimeout(armed);
    armed = undefined;
    armedForMs = Infinity;
  };
  const arm = () => {
    const next = first();
    if (!run || !next || next.dueAtMs >= armedForMs) return;
    disarm();
    armedForMs = next.dueAtMs;
    armed = clock.setTimeout(fire, Math.min(STEP_MS, Math.max(0, next.dueAtMs - now())));
  };
  const fire = () => {
    disarm();
    for (let next = first(); next && next.dueAtMs <= now(); next = first()) {
      queue.pop();
      const { subject } = next;
      keep(
        subject,
        (state.timers.get(subject) ?? []).filter((one) => one !== next),
      );
      run?.(next);
    }
    arm();
  };
  const rearm = () => {
    disarm();
    queue = new TinyQueue([...state.timers.values()].flat(), byDueTime);
    arm();
  };
  return {
    add: (kind, subject, delayMs) => {
      const timer = { id: ++state.lastTimerId, dueAtMs: now() + delayMs, kind, subject };
      keep(subject, [...(state.timers.get(subject) ?? []), timer]);
      queue.push(timer);
      arm();
    },
    cancel: (subject, kinds) => {
      const timers = state.timers.get(subject);
      if (!timers) return;
      keep(subject, kinds ? timers.filter(({ kind }) => !kinds.includes(kind)) : []);
    },
    has: (subject) => state.timers.has(subject),
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
