import type { Answer, Call, Core } from '../core.ts';
import type { EffectOf } from '../fault-rules.ts';
import type { Task } from '../world.ts';
import { collection, head, missing, ref, ROOT, type View } from './views.ts';

const TASKS = `${ROOT}/TaskService/Tasks`;

export const taskServiceView = (core: Core, call: Call): View => ({
  ...head(call, 'TaskService.v1_2_0.TaskService', 'TaskService', 'Task Service'),
  ServiceEnabled: true,
  DateTime: call.time(core.clock.now()),
  Tasks: ref(call, TASKS),
});

const isThere = ({ clock }: Core, { vanishesMs }: Task) => clock.now() < vanishesMs;

export const tasksView = (core: Core, call: Call): View =>
  collection(
    call,
    'Task',
    [...call.bmc.tasks.values()]
      .filter((task) => isThere(core, task))
      .map(({ id }) => `${TASKS}/${id}`),
  );

/** @throws {RedfishError} 404. */
function taskOf(core: Core, call: Call): Task {
  const found = call.bmc.tasks.get(call.params['task'] ?? '');
  if (!found || !isThere(core, found)) throw missing(call);
  return found;
}

const viewOf = ({ clock }: Core, call: Call, { id, startedMs, endsMs }: Task) => {
  const isDone = clock.now() >= endsMs;
  return {
    ...head(call, 'Task.v1_5_1.Task', id, `Task ${id}`),
    '@odata.id': call.link(`${TASKS}/${id}`),
    TaskState: isDone ? 'Completed' : 'Running',
    TaskStatus: 'OK',
    StartTime: call.time(startedMs),
    ...(isDone && { EndTime: call.time(endsMs) }),
    TaskMonitor: call.link(`${ROOT}/TaskService/TaskMonitors/${id}`),
  };
};

export const taskView = (core: Core, call: Call): View => viewOf(core, call, taskOf(core, call));

/** 202 while it runs, 204 when it is done. */
export function monitor(core: Core, call: Call): Answer {
  const task = taskOf(core, call);
  if (core.clock.now() >= task.endsMs) return { status: 204 };
  return { status: 202, headers: headersOf(call, task), body: viewOf(core, call, task) };
}

const headersOf = (call: Call, { id, retryAfterS }: Task) => ({
  location: call.link(`${ROOT}/TaskService/TaskMonitors/${id}`),
  'retry-after': String(retryAfterS),
});

/** The answer to a change that was done, as one that goes on. */
export function startTask(
  core: Core,
  call: Call,
  { does, ms = 5_000, retryAfterS = 1 }: EffectOf<'task'>,
): Answer {
  const nowMs = core.clock.now();
  const task: Task = {
    id: String(++call.bmc.lastId),
    startedMs: nowMs,
    endsMs: does === 'ends' ? nowMs + ms : Infinity,
    vanishesMs: does === 'vanishes' ? nowMs + ms : Infinity,
    retryAfterS,
  };
  call.bmc.tasks.set(task.id, task);
  return { status: 202, headers: headersOf(call, task), body: viewOf(core, call, task) };
}
