import { describe, expect, test } from 'vitest';
import { caseReasons, caseStep, isBroken, opensCase } from '../../src/domain/cases.ts';
import type { ConditionEffect } from '../../src/domain/conditions.ts';
import type { HoldRow, MachineRow } from '../../src/domain/machine.ts';
import {
  hold,
  machineRow,
  MACHINE,
  NOW_MS,
  PROVIDER,
  SLOT_ID,
  slotFacts,
} from '../support/facts.ts';

const drain = (): ConditionEffect => 'drain';
type Quarantine = NonNullable<MachineRow['quarantine']>;
const titles = (
  quarantine: Partial<Quarantine> | null,
  {
    holds = [] as HoldRow[],
    sinceMs = [] as number[],
    fromMs = null as number | null,
    effect = drain(),
    suspicious = [] as string[],
  } = {},
) =>
  caseReasons(
    slotFacts({
      row: machineRow({
        quarantine: quarantine && {
          ...{ kind: 'needsHuman', reason: 'no rung is left', untilMs: null, cause: null },
          ...quarantine,
        },
      }),
      holds,
      conditions: sinceMs.map((each) => ({
        ...{ provider: PROVIDER, slotId: SLOT_ID, type: 'disk-failing', source: 'agent' },
        ...{
          status: 'True',
          reason: 'sda fails',
          detail: '',
          sinceMs: each,
          fromMs,
          expiresAtMs: null,
        },
      })),
    }),
    { ...{ nowMs: NOW_MS, suspicious: new Set(suspicious) }, effects: { 'disk-failing': effect } },
  );

describe('a slot gets a case', () => {
  test.each<[string, boolean, Partial<Quarantine> | null]>([
    ['of a machine that nobody quarantined', false, null],
    ['whose machine needs a person', true, {}],
    ['whose machine is chronic', true, { cause: 'chronic' }],
    ['that is retired', true, { kind: 'byOperator', cause: 'retired' }],
    ['that an operator put aside', false, { kind: 'byOperator' }],
    ['with a conflict', false, { kind: 'conflict' }],
  ])('%s: %s', (_, isOne, quarantine) => {
    expect(titles(quarantine)).toEqual(
      isOne
        ? [
            {
              ...{ provider: PROVIDER, slotId: SLOT_ID, machineId: MACHINE },
              ...{ title: 'no rung is left', sinceMs: null, isSuspicious: false },
            },
          ]
        : [],
    );
  });

  test('for each condition that drains, whatever holds it has', () => {
    const title = 'disk-failing: agent: sda fails';
    const reasons = titles(null, { holds: [hold('no-serve')], sinceMs: [NOW_MS - 9, NOW_MS - 5] });
    expect(reasons).toMatchObject([
      { title, sinceMs: NOW_MS - 9, isSuspicious: false },
      { title, sinceMs: NOW_MS - 5 },
    ]);
  });

  test('but none that an operator drains, or a condition only keeps from new work', () => {
    expect(titles(null, { holds: [hold('no-serve')] })).toEqual([]);
    expect(titles(null, { sinceMs: [NOW_MS], effect: 'no-new-work' })).toEqual([]);
  });

  test('while a type is suspicious, the repair goes on', () => {
    const suspicious = ['fleet disk-failing'];
    expect(titles(null, { sinceMs: [NOW_MS], suspicious })).toMatchObject([{ isSuspicious: true }]);
  });

  test('when announced work begins, since then, even if it was told before', () => {
    const begun = (fromMs: number) => titles(null, { sinceMs: [NOW_MS - 9], fromMs });
    expect(begun(NOW_MS + 1)).toEqual([]);
    expect(begun(NOW_MS)).toMatchObject([{ sinceMs: NOW_MS }]);
    expect(begun(NOW_MS - 10)).toMatchObject([{ sinceMs: NOW_MS - 9 }]);
  });

  test('with a title of one short line', () => {
    const [{ title } = expect.fail()] = titles({ reason: `it\nfails ${'again '.repeat(99)}` });
    expect(title).toMatch(/^it fails again .*… \(cut\)$/);
    expect(title.length).toBeLessThanOrEqual(200);
    expect(titles({ reason: ' ' })).toMatchObject([{ title: 'it needs a person' }]);
  });
});

type Last = Parameters<typeof opensCase>[1];
const closedBy = (name: string): Last => ({ closedAtMs: NOW_MS, closedBy: name });
test.each<[string, boolean, number | null, Last]>([
  ['the first time', true, null, undefined],
  ['while a case is open', false, NOW_MS, { closedAtMs: null, closedBy: null }],
  ['for a reason from before a person closed it', false, NOW_MS - 1, closedBy('ann')],
  ['for a reason from before acceptance closed it', true, NOW_MS - 1, closedBy('acceptance')],
  ['for a reason of an unknown time after a closing', false, null, closedBy('acceptance')],
  ['for a newer reason', true, NOW_MS + 1, closedBy('ann')],
])('a case is opened %s: %s', (_, isOpened, sinceMs, last) => {
  expect(opensCase({ sinceMs, isSuspicious: false }, last)).toBe(isOpened);
  expect(opensCase({ sinceMs, isSuspicious: true }, last)).toBe(false);
});

test('a machine that a person put aside counts as broken', () => {
  const quarantine = { kind: 'byOperator', reason: '', untilMs: null, cause: null } as const;
  expect(isBroken({ row: machineRow() }, [])).toBe(false);
  expect(isBroken({ row: machineRow({ quarantine }) }, [])).toBe(true);
  expect(isBroken({ row: machineRow() }, titles({}))).toBe(true);
});

type Accepted = Parameters<typeof caseStep>[1];
const accepted = (state: string, cause = 'repaired', askedAtMs = NOW_MS + 1): Accepted => ({
  ...{ state, cause, askedAtMs },
});
test.each<[string, ReturnType<typeof caseStep>, Accepted, boolean, string?]>([
  ['waits', null, accepted('waiting'), true],
  ['is due', null, accepted('due', 'asked'), false],
  ['passed', 'close', accepted('passed'), false],
  ['passed, and it broke again', 'request', accepted('passed'), true],
  ['passed before the opening', 'request', accepted('passed', 'repaired', NOW_MS), false],
  ['failed after the repair', null, accepted('failed'), false],
  ['failed in the middle of the repair', 'request', accepted('failed', 'asked'), true],
  ['passed in the middle of the repair', 'request', accepted('passed', 'asked'), false],
  ['was never requested', 'request', null, false],
  ['of a case by a person was never requested', null, null, false, 'ann'],
  ['of a case by a person, and it breaks, was never requested', 'request', null, true, 'ann'],
  [
    'of a case by a person passed for another reason',
    null,
    accepted('passed', 'asked'),
    false,
    'ann',
  ],
])(
  'if the acceptance %s, the step is: %s',
  (_, step, acceptance, broken, openedBy = 'shepherd') => {
    expect(caseStep({ openedAtMs: NOW_MS, openedBy }, acceptance, broken)).toBe(step);
  },
);
