import { createActor, type PromiseActorLogic } from 'xstate';
import type { Job } from '../../src/machines/task.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';
import { MACHINE, SLOT } from './facts.ts';

export const JOB: Job = { slot: SLOT, machineId: MACHINE };

/** One run of a promise slot. */
export interface ServiceRun<Output> {
  /** Never settles once the run is stopped. */
  readonly result: Promise<Output>;
  /** Stops the run as a chart does when it leaves the state. */
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

/** Results of a task's steps so far. */
const told = new WeakMap<object, object>();

/** Runs one step of a task with the results of the earlier steps, as the task's chart does. */
export function runStep<Services extends object>(
  services: Services,
  name: Exclude<keyof Services, 'giveUp'>,
): ServiceRun<unknown> {
  const logic = services[name] as PromiseActorLogic<object, Job>;
  const run = runService(logic, { ...JOB, ...told.get(services) });
  const result = run.result.then((output) => {
    told.set(services, { ...told.get(services), ...output });
    return output;
  });
  result.catch(() => undefined);
  return { ...run, result };
}
