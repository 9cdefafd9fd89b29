import { createActor, type PromiseActorLogic } from 'xstate';
import type { Job } from '../../src/machines/task.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';
import { MACHINE, SLOT } from './facts.ts';

export const JOB: Job = { slot: SLOT, machineId: MACHINE };

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

/** What the steps of a task told so far. */
const told = new WeakMap<object, object>();

/** Runs one step of a task with what the steps before it told, as the task's chart does. */
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
