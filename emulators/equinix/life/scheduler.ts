import type { EmulatorClock } from '../../kit/clock.ts';
import { type State, type Timer, TIMER_KINDS, type TimerKind } from '../state/state.ts';

export type Scheduler = ReturnType<typeof createScheduler>;

/** Timers in the state, so that they survive a restart. */
export function createScheduler({ timers }: Pick<State, 'timers'>, clock: EmulatorClock) {
  const armed = new Map<string, unknown>();
  let run: ((timer: Timer) => void) | undefined;

  const disarm = (id: string) => {
    if (armed.has(id)) clock.clearTimeout(armed.get(id));
    armed.delete(id);
  };
  const arm = (timer: Timer) => {
    disarm(timer.id);
    const fire = () => {
      armed.delete(timer.id);
      timers.delete(timer.id);
      run?.(timer);
    };
    if (run) armed.set(timer.id, clock.setTimeout(fire, Math.max(0, timer.dueAtMs - clock.now())));
  };
  const put = (timer: Timer) => {
    timers.set(timer.id, timer);
    arm(timer);
  };
  return {
    /** Replaces the subject's timer of this kind. */
    set: (kind: TimerKind, subject: string, delayMs: number): void =>
      put({ id: `${kind} ${subject}`, kind, subject, dueAtMs: clock.now() + delayMs }),
    /** Removes the subject's timers. */
    cancel(subject: string): void {
      for (const kind of TIMER_KINDS) {
        timers.delete(`${kind} ${subject}`);
        disarm(`${kind} ${subject}`);
      }
    },
    has: (subject: string): boolean => TIMER_KINDS.some((kind) => timers.has(`${kind} ${subject}`)),
    /**
     * Runs due timers from now on. Nothing ran for `awayMs`, and the remaining waits are unchanged.
     */
    start(handler: (timer: Timer) => void, awayMs: number): void {
      run = handler;
      const all = [...timers.values()].toSorted((a, b) => a.dueAtMs - b.dueAtMs);
      for (const timer of all) put({ ...timer, dueAtMs: timer.dueAtMs + awayMs });
    },
    stop() {
      run = undefined;
      for (const id of armed.keys()) disarm(id);
    },
  };
}
