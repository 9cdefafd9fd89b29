/** The emulator's time, structurally the daemon's clock, so that one clock can drive both. */
export interface EmulatorClock {
  /** Epoch milliseconds. */
  now(): number;
  setTimeout(fn: () => void, timeoutMs: number): unknown;
  clearTimeout(id: unknown): void;
}

/** A clock that stands still until it is stepped. */
export interface ManualClock extends EmulatorClock {
  /**
   * Moves to the next timer due at or before `targetMs` and fires it; without one, moves to the
   * target.
   * @returns whether a timer fired.
   */
  stepTowards(targetMs: number): boolean;
}

export const realClock: EmulatorClock = {
  now: () => Date.now(),
  setTimeout: (fn, timeoutMs) => setTimeout(fn, timeoutMs),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
};

/** Virtual time starting at `startMs` (epoch). Timers due together fire in the order set. */
export function createManualClock(startMs: number): ManualClock {
  let nowMs = startMs;
  let lastId = 0;
  const timers = new Map<number, { dueMs: number; fn: () => void }>();
  const earliest = () => {
    let best: [number, { dueMs: number; fn: () => void }] | undefined;
    for (const entry of timers) if (!best || entry[1].dueMs < best[1].dueMs) best = entry;
    return best;
  };
  return {
    now: () => nowMs,
    setTimeout: (fn, timeoutMs) => {
      timers.set(++lastId, { dueMs: nowMs + Math.max(0, timeoutMs), fn });
      return lastId;
    },
    clearTimeout: (id) => void timers.delete(id as number),
    stepTowards: (targetMs) => {
      const next = earliest();
      if (!next || next[1].dueMs > targetMs) {
        nowMs = Math.max(nowMs, targetMs);
        return false;
      }
      nowMs = Math.max(nowMs, next[1].dueMs);
      timers.delete(next[0]);
      next[1].fn();
      return true;
    },
  };
}
