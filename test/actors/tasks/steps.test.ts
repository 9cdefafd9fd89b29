import { afterEach, beforeEach, expect, test } from 'vitest';
import { eitherOf, firstStep, slotOf, stepAfter } from '../../../src/actors/tasks/steps.ts';
import { claim, type Claimed } from '../../../src/actors/tasks/task.ts';
import { runSlot } from '../../support/run-slot.ts';
import { createTaskStand, JOB, type TaskStand } from '../../support/task-stand.ts';

let stand: TaskStand;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  stand.given();
  await stand.grant('agentStart');
});
afterEach(() => stand.close());

const stepsOf = () => {
  const { desk } = stand;
  const claimed = firstStep(desk, (turn, job) =>
    claim(stand.deps(), 'ShepherdAgentStart', turn, job),
  );
  const left = stepAfter(desk, claimed, async (given) => ({ ...given, way: 'left' }));
  const right = stepAfter(desk, claimed, async (given) => ({ ...given, way: 'right' }));
  const seen: string[] = [];
  const end = stepAfter(desk, eitherOf(left, right), async (given: Claimed & { way: string }) => {
    seen.push(given.way);
    return given;
  });
  return { claimed, left, right, end, seen };
};

test('a step gets what the one before it returned, by whichever way it was reached', async () => {
  const { claimed, right, end, seen } = stepsOf();
  await runSlot(slotOf(claimed), JOB).result;
  await runSlot(slotOf(right, end), JOB).result;
  expect(seen).toEqual(['right']);
});

test('a step does not begin before the one that it needs', async () => {
  const { claimed, end, seen } = stepsOf();
  await runSlot(slotOf(claimed), JOB).result;
  await expect(runSlot(slotOf(end), JOB).result).rejects.toThrow('before the one that it needs');
  expect(seen).toEqual([]);
});

test('what a step returned is forgotten with its turn', async () => {
  const { claimed, left, end } = stepsOf();
  await runSlot(slotOf(claimed, left), JOB).result;
  stand.desk.end(JOB.slot);
  await stand.grant('agentStart');
  await expect(runSlot(slotOf(end), JOB).result).rejects.toThrow('before the one that it needs');
});
