import { beforeEach, expect, test } from 'vitest';
import { eitherOf, firstStep, serviceOf, stepAfter } from '../../../src/actors/tasks/steps.ts';
import { claim, type Claimed } from '../../../src/actors/tasks/task.ts';
import { runService } from '../../support/run-service.ts';
import { createTaskStand, JOB, type TaskStand } from '../../support/task-stand.ts';

let stand: TaskStand;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  stand.given();
  await stand.grant('agentStart');
});

const stepsOf = () => {
  const { taskPool } = stand;
  const claimed = firstStep(taskPool, (turn, job) =>
    claim(stand.deps(), 'ShepherdAgentStart', turn, job),
  );
  const left = stepAfter(taskPool, claimed, async (given) => ({ ...given, way: 'left' }));
  const right = stepAfter(taskPool, claimed, async (given) => ({ ...given, way: 'right' }));
  const seen: string[] = [];
  const end = stepAfter(
    taskPool,
    eitherOf(left, right),
    async (given: Claimed & { way: string }) => {
      seen.push(given.way);
      return given;
    },
  );
  return { claimed, left, right, end, seen };
};

test('a step gets what the one before it returned, by whichever way it was reached', async () => {
  const { claimed, right, end, seen } = stepsOf();
  await runService(serviceOf(claimed), JOB).result;
  await runService(serviceOf(right, end), JOB).result;
  expect(seen).toEqual(['right']);
});

test('a step does not begin before the one that it needs', async () => {
  const { claimed, end, seen } = stepsOf();
  await runService(serviceOf(claimed), JOB).result;
  await expect(runService(serviceOf(end), JOB).result).rejects.toThrow(
    'before the one that it needs',
  );
  expect(seen).toEqual([]);
});

test('what a step returned is forgotten with its turn', async () => {
  const { claimed, left, end } = stepsOf();
  await runService(serviceOf(claimed, left), JOB).result;
  stand.taskPool.end(JOB.slot);
  await stand.grant('agentStart');
  await expect(runService(serviceOf(end), JOB).result).rejects.toThrow(
    'before the one that it needs',
  );
});
