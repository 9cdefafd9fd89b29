import { expect, test } from 'vitest';
import { matcherOf } from '../../src/console/index/row.ts';
import { readFilter } from '../../src/domain/machine-filter.ts';
import { viewOf } from '../../src/domain/view.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { slotFacts, hold, machineRow, NOW_MS } from '../support/facts.ts';

const retired = { reason: 'third disk', untilMs: null, cause: 'retired' } as const;
const viewed = (kind: 'needsHuman' | 'byOperator') =>
  viewOf(
    slotFacts({ row: machineRow({ quarantine: { ...retired, kind } }), holds: [hold('retired')] }),
    { nowMs: NOW_MS, loss: DEFAULT_LOSS },
  );

test('a retired machine is quarantined, and says how it is used again', () => {
  for (const kind of ['needsHuman', 'byOperator'] as const) {
    expect(viewed(kind)).toMatchObject({
      ...{ state: 'Quarantined', substate: 'retired', next: null, needsHuman: false },
      ...{ reason: 'third disk', endedBy: 'an operator: shepherd machine unretire' },
    });
  }
});

test('the word retired finds machines whose slot is retired', () => {
  const { filter } = readFilter('retired');
  const matches = matcherOf(filter!, { isOverdue: () => false })!;
  const entry = { state: 'Quarantined', substate: 'retired', sinceMs: NOW_MS, last: null } as const;
  const view = viewed('byOperator');
  expect(matches({ ...entry, view }, () => '', NOW_MS)).toBe(true);
  expect(matches({ ...entry, view: { ...view, holds: ['preserve'] } }, () => '', NOW_MS)).toBe(
    false,
  );
});
