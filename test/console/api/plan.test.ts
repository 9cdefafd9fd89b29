import { expect, test } from 'vitest';
import type { PlanAnswer } from '../../../src/console/api/plan-schema.ts';
import { AT_MS } from '../scripted-fleet.ts';
import { PLAN, planView } from '../scripted-plan.ts';
import { askApi, openConsole } from './console-stand.ts';

test('the plan is told with its reasons; times are whole; of a balancer of others nothing is known', async () => {
  const console = await openConsole({ plan: planView() });
  const { status, body } = await askApi<PlanAnswer>(console, 'plan');
  expect(status).toBe(200);
  const { plan: foresight } = PLAN.providers[0]!;
  expect(body).toMatchObject({
    atMs: AT_MS + 1,
    providers: [
      {
        ...{ provider: 'equinix', isHere: true, mayEraseDisks: true },
        plan: { ...foresight, atMs: AT_MS - 4_000 },
      },
    ],
    work: [
      {
        ...{ work: 'recovery', count: 60 },
        machines: [{ slot: 'equinix/a', blockedBy: [{ kind: 'hold' }] }],
      },
      { work: 'agentStart', count: 0 },
      { work: 'deprovision', count: 0 },
    ],
    pools: [
      {
        seenAtMs: AT_MS - 1_000,
        plan: {
          ...{ held: 'paused by ann: maintenance', stage: 'settled', panic: ['equinix/b'] },
          moves: [{ member: 'equinix/a', from: 'active', to: 'draining' }],
          leftOut: [{ why: 'no address' }],
        },
      },
      { balancer: 'core', sessionId: null, seenAtMs: null, plan: null },
    ],
  });
});

test('however many look, all is walked through once in five seconds', async () => {
  let looks = 0;
  const plan = () => {
    looks += 1;
    return PLAN;
  };
  const console = await openConsole({ plan });
  await Promise.all([1, 2, 3].map(() => askApi(console, 'plan')));
  expect(looks).toBe(1);
});
