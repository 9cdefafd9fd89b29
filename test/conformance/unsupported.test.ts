import { expect, test } from 'vitest';
import type { Capabilities, Provider } from '../../src/adapters/provider/port.ts';
import type { Need } from '../../src/conformance/step.ts';
import { badIn, outcomes, resultOf, runTest, STUB, stubWith } from './stand.ts';

/** The first step that needs it. */
const STEP_OF: Readonly<Record<Need, string>> = {
  create: 'create',
  deprovision: 'destroy',
  reboot: 'reboot',
  reinstall: 'reinstall',
  power: 'power',
  tags: 'tag-changes',
};
const METHOD_OF = {
  create: 'createMachine',
  deprovision: 'deprovisionMachine',
  reboot: 'rebootMachine',
  reinstall: 'reinstallMachine',
  power: 'setPower',
  tags: 'setTags',
} as const satisfies Record<Need, keyof Provider>;

const lying = (need: Need, method: () => Promise<unknown>) =>
  stubWith(({ capabilities }) => ({
    capabilities: { ...capabilities, [need]: false } satisfies Capabilities,
    [METHOD_OF[need]]: method,
  }));
const needs = Object.keys(STEP_OF) as Need[];

test.each(needs)('"%s" is not declared, and done all the same', async (need) => {
  const step = STEP_OF[need];
  const answer = { id: null, operationRef: 'done' };
  const drivers = lying(need, async () => answer);
  const { exitCode, report } = await runTest(STUB, { only: [step] }, { drivers });
  expect(exitCode).toBe(1);
  expect(resultOf(report, step)).toMatchObject({
    outcome: 'failed',
    message: `"${need}" is not declared: succeeded instead of not-implemented`,
  });
  expect(badIn(report)[0]).toMatch(`${step} failed`);
});

test.each(needs)('"%s" is not declared, and refused for another reason', async (need) => {
  const step = STEP_OF[need];
  const drivers = lying(need, () => Promise.reject(new Error('never heard of it')));
  const { report } = await runTest(STUB, { only: [step] }, { drivers });
  expect(resultOf(report, step)).toMatchObject({
    outcome: 'failed',
    message: `"${need}" is not declared: internal instead of not-implemented: never heard of it`,
  });
});

test('a missing method is a refusal too', async () => {
  const drivers = stubWith(({ capabilities }) => ({
    capabilities: { ...capabilities, power: false },
    setPower: undefined as never,
  }));
  const { exitCode, report } = await runTest(STUB, { only: ['power'] }, { drivers });
  expect(exitCode).toBe(0);
  expect(outcomes(report)['power']).toBe('skipped');
});

test('a refusal is asked for once, and its failure counted once', async () => {
  const drivers = lying('create', async () => ({ id: null }));
  const { report } = await runTest(STUB, {}, { drivers });
  const creating = [
    'unannounced',
    'create',
    'listed',
    'tags',
    'idempotent',
    'witness',
    'rival',
    'sweep',
  ];
  expect(creating.map((id) => outcomes(report)[id])).toEqual([
    'failed',
    ...creating.slice(1).map(() => 'not-run'),
  ]);
});
