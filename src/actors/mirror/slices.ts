import { sleep, type Clock } from '../../adapters/clock/port.ts';
import type { Steps } from '../../lib/steps.ts';

/** Long work, cut into slices of a few milliseconds between which everything else has its turn. */
export interface Slices {
  /** The slice has lasted long enough: `pause` is due. */
  isOver(): boolean;
  /** @throws the signal's reason. */
  pause(): Promise<void>;
  /** Takes all steps, with pauses. @throws the signal's reason. */
  run<T>(steps: Steps<T>): Promise<T>;
}

/** Heartbeats and pokes wait no longer than this, and what the garbage collector adds. */
const SLICE_MS = 2;

/** The first slice begins now. */
export function createSlices(clock: Clock, signal?: AbortSignal): Slices {
  let beganAtMs = clock.monotonic();
  const isOver = () => clock.monotonic() - beganAtMs >= SLICE_MS;
  const pause = async () => {
    await sleep(clock, 0, signal);
    beganAtMs = clock.monotonic();
  };
  return {
    isOver,
    pause,
    async run(steps) {
      for (;;) {
        const step = steps.next();
        if (step.done) return step.value;
        if (isOver()) await pause();
      }
    },
  };
}
