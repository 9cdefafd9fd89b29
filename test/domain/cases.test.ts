import { describe, expect, test } from 'vitest';
import { caseReasons, closesCase, opensCase } from '../../src/domain/cases.ts';
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

type Quarantine = NonNullable<MachineRow['quarantine']>;
const titles = (
  quarantine: Partial<Quarantine> | null,
  { holds = [] as HoldRow[], sinceMs = [] as number[], fromMs = null as number | null } = {},
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
    NOW_MS,
  );
const drain = { ...hold('no-serve'), setBy: 'condition disk-failing', reason: 'agent: sda fails' };

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
              ...{ title: 'no rung is left', sinceMs: null },
            },
          ]
        : [],
    );
  });

  test('that a condition drains, since the last report of the condition', () => {
    expect(titles(null, { holds: [drain], sinceMs: [NOW_MS - 9, NOW_MS - 5] })).toMatchObject([
      { title: 'disk-failing: agent: sda fails', sinceMs: NOW_MS - 5 },
    ]);
  });

  test.each<[string, HoldRow]>([
    ['an operator drains', { ...drain, setBy: 'ann' }],
    ['a condition only keeps from new work', { ...drain, kind: 'no-allocate' }],
  ])('but none that %s', (_, holds) => {
    expect(titles(null, { holds: [holds], sinceMs: [NOW_MS] })).toEqual([]);
  });

  test('when announced work begins, since then, even if it was told before', () => {
    const begun = (fromMs: number) =>
      titles(null, { holds: [{ ...drain, fromMs }], sinceMs: [NOW_MS - 9], fromMs });
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

test.each<[string, boolean, number | null, { closedAtMs: number | null } | undefined]>([
  ['the first time', true, null, undefined],
  ['while a case is open', false, NOW_MS, { closedAtMs: null }],
  ['for a reason from before the closing', false, NOW_MS - 1, { closedAtMs: NOW_MS }],
  ['for a reason of an unknown time after a closing', false, null, { closedAtMs: NOW_MS }],
  ['for a newer reason', true, NOW_MS + 1, { closedAtMs: NOW_MS }],
])('a case is opened %s: %s', (_, isOpened, sinceMs, last) => {
  expect(opensCase({ sinceMs }, last)).toBe(isOpened);
});

test('only a passed acceptance closes a case, and only one that was requested after its opening', () => {
  const open = { openedAtMs: NOW_MS, closedAtMs: null };
  const accepted = (state: string, askedAtMs = NOW_MS + 1) => ({ state, askedAtMs });
  expect(closesCase(open, accepted('passed'))).toBe(true);
  expect(closesCase(open, accepted('passed', NOW_MS))).toBe(false);
  expect(closesCase(open, accepted('failed'))).toBe(false);
  expect(closesCase(open, null)).toBe(false);
  expect(closesCase({ ...open, closedAtMs: NOW_MS }, accepted('passed'))).toBe(false);
});
