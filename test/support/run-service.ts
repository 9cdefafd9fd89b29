import { createActor, type PromiseActorLogic } from 'xstate';
import type { VirtualClock } from '../doubles/simulated-clock.ts';

/** One run of a promise slot. */
export interface ServiceRun<Output> {
  /** Never settles once the run was stopped. */
  readonly result: Promise<Output>;
  /** Stops it, as a chart does that leaves the state. */
  stop(): void;
}

export function runService<Output, Input>(
  logic: PromiseActorLogic<Output, Input>,
  input: Input,
  clock?: VirtualClock,
): ServiceRun<Output> {
  const actor = createActor(logic, { input, ...(clock && { clock }) });
  const result = new Promise<Output>((resolve, reject) => {
    actor.subscribe({
      next: ({ status, output }) => {
        if (status === 'done') resolve(output);
      },
      error: reject,
    });
  });
  result.catch(() => undefined);
  actor.start();
  return { result, stop: () => void actor.stop() };
}
