import { mutationsOf } from './mutation.ts';

/** What a bring-up must not cost. */
export const mutations = mutationsOf`
src/actors/turns/turns.ts test/actors/turns/task-pool.test.ts
  who-left-is-in-the-queue-for-ever: [-          waiting.delete(waiter);\n-]
src/actors/tasks/task.ts test/actors/tasks/ended-turns.test.ts
  a-place-is-kept-while-rows-are-read: \_\_[-taskPool.leavePlace(turn.slot);\n  -]const labels
src/actors/cell-pool.ts test/actors/cell-pool.test.ts
  news-that-move-nothing-cost-an-event:
    [-if (machine && before && isSameToChart(before, view)) show(slot, machine);\n      else -]send
src/machines/lifecycle.ts test/actors/cell-pool.test.ts
  a-request-is-no-news: \_\_before.machineId === after.machineId[- &&\n  before.request === after.request-];
src/actors/tasks/agent-start.ts test/actors/tasks/ended-turns.test.ts
  a-place-is-kept-while-a-start-is-recorded: \_\_[-deps.taskPool.leavePlace(slot);\n  -]// Under the lease
src/actors/tasks/task.ts test/actors/tasks/agent-start.test.ts
  a-step-outlives-its-actor: if ([-!-]turn.signal.aborted) taskPool.end(turn.slot);
`;
