import type { Mutation } from './mutation.ts';

/** What a bring-up must not cost. */
export const mutations: readonly Mutation[] = [
  {
    id: 'who-left-is-in-the-queue-for-ever',
    file: 'src/actors/turns/semaphore.ts',
    find: '    while (next && !waiting.has(next)) next = queue.pop();\n',
    replace: '',
    tests: ['test/actors/turns/semaphore.test.ts'],
  },
  {
    id: 'a-place-is-kept-while-rows-are-read',
    file: 'src/actors/tasks/task.ts',
    find: '  taskPool.leavePlace(turn.slot);\n  const seconds',
    replace: '  const seconds',
    tests: ['test/actors/tasks/ended-turns.test.ts'],
  },
  {
    id: 'news-that-move-nothing-cost-an-event',
    file: 'src/actors/cell-pool.ts',
    find: 'if (machine && before && isSameToChart(before, view)) show(slot, machine);\n      else send',
    replace: 'send',
    tests: ['test/actors/cell-pool.test.ts'],
  },
  {
    id: 'a-request-is-no-news',
    file: 'src/machines/lifecycle-setup.ts',
    find: '  before.machineId === after.machineId &&\n  before.request === after.request;',
    replace: '  before.machineId === after.machineId;',
    tests: ['test/actors/cell-pool.test.ts'],
  },
  {
    id: 'a-place-is-kept-while-a-start-is-recorded',
    file: 'src/actors/tasks/agent-start.ts',
    find: '    taskPool.leavePlace(slot);\n    await work.finish({',
    replace: '    await work.finish({',
    tests: ['test/actors/tasks/ended-turns.test.ts'],
  },
  {
    id: 'a-step-outlives-its-actor',
    file: 'src/actors/tasks/steps.ts',
    find: '        if (!turn.signal.aborted) end(job.slot);\n',
    replace: '        if (turn.signal.aborted) end(job.slot);\n',
    tests: ['test/actors/tasks/agent-start.test.ts'],
  },
];
