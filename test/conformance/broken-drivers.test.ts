import { describe, expect, test } from 'vitest';
import { STEPS } from '../../src/conformance/steps.ts';
import { BROKEN_CHANGING } from './broken/changing.ts';
import { BROKEN_CLAIMS } from './broken/claims.ts';
import { BROKEN_CONTACT } from './broken/contact.ts';
import { BROKEN_CREATION } from './broken/creation.ts';
import { BROKEN_ENDING } from './broken/ending.ts';
import { BROKEN_OPENING } from './broken/opening.ts';
import { badIn, resultOf, runTest, STUB, stubWith } from './stand.ts';

const BROKEN = [
  ...BROKEN_OPENING,
  ...BROKEN_CREATION,
  ...BROKEN_CONTACT,
  ...BROKEN_CHANGING,
  ...BROKEN_ENDING,
  ...BROKEN_CLAIMS,
];

describe('a driver that', () => {
  test.each(BROKEN.map((broken) => [broken.what, broken.step, broken] as const))(
    '%s fails "%s"',
    async (_, step, { says, settings, change = () => ({}) }) => {
      const { exitCode, report } = await runTest(
        { ...STUB, ...settings },
        { only: [step] },
        { drivers: stubWith(change) },
      );
      const first = badIn(report)[0] ?? 'every step passed';
      expect(first).toMatch(new RegExp(`^${step} failed`));
      expect(resultOf(report, step).message).toMatch(says);
      expect({ exitCode, passed: report.passed }).toEqual({ exitCode: 1, passed: false });
    },
  );
});

test('every step has been seen to fail, or asks the tester', () => {
  const seen = new Set(BROKEN.map(({ step }) => step));
  const unseen = STEPS.map(({ id }) => id).filter((id) => !seen.has(id));
  expect(unseen).toEqual(['config', 'existing', 'command', 'pause']);
});
