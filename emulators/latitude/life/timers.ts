import type { EmulatorClock } from '../../kit/clock.ts';

/** A server's pending event: the next step of its life, or its removal. */
type TimerKind = 'phase' | 'removal';

export interface Timers {
  /** One of each kind per server; a later timer replaces the earlier. */
  set(id: string, kind: TimerKind, delayMs: number, due: () => void): void;
  clear(id: string, kind: TimerKind): void;
  close(): void;
}

/** Maximum delay of the runtime's timers; longer waits are split into steps. */
const STEP_MS = 2 ** 31 - 1;

export function createTimers(clock: EmulatorClock): Timers {
  const timers = new Map<string, unknown>();
  const nameOf = (id: string, kind: TimerKind) => `${kind} ${id}`;
  const clear = (name: string) => {
    clock.clearTimeout(timers.get(name));
    timers.delete(name);
  };
  const set = (name: string, delayMs: number, due: () => void) => {
    clear(name);
    const stepMs = Math.min(STEP_MS, Math.max(0, delayMs));
    const next = () => {
      timers.delete(name);
      if (delayMs > stepMs) set(name, delayMs - stepMs, due);
      else due();
    };
    timers.set(name, clock.setTimeout(next, stepMs));
  };
  return {
    set: (id, kind, delayMs, due) => set(nameOf(id, kind), delayMs, due),
    clear: (id, kind) => clear(nameOf(id, kind)),
    close() {
      for (const name of timers.keys()) clear(name);
    },
  };
}
