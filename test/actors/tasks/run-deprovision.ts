import { fromPromise } from 'xstate';
import { deprovisionServices } from '../../../src/actors/tasks/deprovision.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { deprovision } from '../../../src/machines/deprovision.ts';
import type { Job, TaskResult } from '../../../src/machines/task.ts';
import { PROVIDER } from '../../support/facts.ts';
import type { TaskStand } from '../../support/task-stand.ts';

/** Runs the whole task as the lifecycle does, while time passes. */
export function runDeprovision(stand: TaskStand, provider: FleetProvider): Promise<TaskResult> {
  const services = deprovisionServices({
    ...stand.deps(),
    providers: new Map([[PROVIDER, provider]]),
    random: stand.random,
    holds: stand.holds,
    nowMs: stand.clock.now,
    pollMs: 10_000,
    agentPath: '/root/agent',
  });
  const reread = fromPromise<MachineView | null, Job>(async () => null);
  return stand.runTask('deprovision', deprovision.provide({ actors: { ...services, reread } }));
}
