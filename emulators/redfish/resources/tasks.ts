import type { ApiAnswer } from '../../kit/api.ts';
import type { RedfishCall, RackCore, ResourceView } from '../core.ts';
import type { RedfishEffectOf } from '../faults.ts';
import type { Task } from '../world.ts';
import { collection, head, missing, ref, ROOT } from './views.ts';

export const TASKS = `${ROOT}/TaskService/Tasks`;
export const MONITORS = `${ROOT}/TaskService/TaskMonitors`;

export const serviceView = (core: RackCore, call: RedfishCall): ResourceView => ({
  ...head(call, 'TaskService.v1_2_0.TaskService', 'TaskService', 'Task Service'),
  ServiceEnabled: true,
  DateTime: call.time(core.clock.now()),
  Tasks: ref(call, TASKS),
});

const isThere = ({ clock }: RackCore, { vanishesMs }: Task) => clock.now() < vanishesMs;

export function tasksView(core: RackCore, call: RedfishCall): ResourceView {
  const all = [...call.bmc.tasks.values()].filter((task) => isThere(core, task));
  const paths = all.map(({ id }) => `${TASKS}/${id}`);
  return collection(call, 'Task', paths);
}

/** @throws {ApiRefusal} 404. */
function taskOf(core: RackCore, call: RedfishCall): Task {
  const found = call.bmc.tasks.get(call.params['task'] ?? '');
  if (!found || !isThere(core, found)) throw missing(call);
  return found;
}

const viewOf = ({ clock }: RackCore, call: RedfishCall, { id, startedMs, endsMs }: Task) => ({
  ...head(call, 'Task.v1_5_1.Task', id, `Task ${id}`),
  '@odata.id': call.link(`${TASKS}/${id}`),
  TaskState: clock.now() >= endsMs ? 'Completed' : 'Running',
  TaskStatus: 'OK',
  StartTime: call.time(startedMs),
  TaskMonitor: call.link(`${MONITORS}/${id}`),
});

export const taskView = (core: RackCore, call: RedfishCall): ResourceView =>
  viewOf(core, call, taskOf(core, call));

/** 202 while it runs, 204 at its end. */
export function monitor(core: RackCore, call: RedfishCall): ApiAnswer {
  const task = taskOf(core, call);
  return core.clock.now() >= task.endsMs ? { status: 204 } : goesOn(core, call, task);
}

const goesOn = (core: RackCore, call: RedfishCall, task: Task): ApiAnswer => ({
  status: 202,
  headers: {
    location: call.link(`${MONITORS}/${task.id}`),
    'retry-after': String(task.retryAfterS),
  },
  body: viewOf(core, call, task),
});

/** Answers a finished change as a running task. */
export function startTask(
  core: RackCore,
  call: RedfishCall,
  effect: RedfishEffectOf<'task'>,
): ApiAnswer {
  const { does, ms = 5_000, retryAfterS = 1 } = effect;
  const nowMs = core.clock.now();
  const task: Task = {
    id: String(++call.bmc.lastId),
    startedMs: nowMs,
    endsMs: does === 'ends' ? nowMs + ms : Infinity,
    vanishesMs: does === 'vanishes' ? nowMs + ms : Infinity,
    retryAfterS,
  };
  call.bmc.tasks.set(task.id, task);
  return goesOn(core, call, task);
}
