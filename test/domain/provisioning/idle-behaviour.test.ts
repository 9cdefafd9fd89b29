import { expect, test } from 'vitest';
import {
  IDLE_BEHAVIOURS,
  IDLE_TAG,
  holdsMeantBy,
  idleBehaviourOf,
  taggedBehaviour,
} from '../../../src/domain/provisioning/provider-tags.ts';
import type { HoldKind } from '../../../src/domain/machine.ts';

test.each<readonly [HoldKind[], string]>([
  [[], 'run'],
  [['no-allocate'], 'run'],
  [['no-start'], 'drain'],
  [['no-recover'], 'hold'],
  [['preserve'], 'hold'],
  [['no-start', 'no-recover'], 'hold'],
  [['no-start', 'preserve', 'no-allocate'], 'hold'],
])('holds %j: %s', (holds, behaviour) => {
  expect(idleBehaviourOf(holds)).toBe(behaviour);
});

test.each<readonly [string | undefined, string]>([
  ...IDLE_BEHAVIOURS.map((each) => [each, each] as const),
  [undefined, 'run'],
  ['HOLD', 'run'],
  ['', 'run'],
])('tagged %j: %s', (tag, behaviour) => {
  expect(taggedBehaviour(tag === undefined ? {} : { [IDLE_TAG]: tag })).toBe(behaviour);
});

test('the holds that a behaviour means mean that behaviour', () => {
  for (const each of IDLE_BEHAVIOURS) expect(idleBehaviourOf(holdsMeantBy(each))).toBe(each);
});
