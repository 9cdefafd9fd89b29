import { describe, expect, test } from 'vitest';
import type { MachineRow } from '../../../src/domain/machine.ts';
import {
  ERASING_LADDER,
  nextStep,
  type LadderCircumstances,
  type LadderEnd,
  type LadderStep,
} from '../../../src/domain/recovery/ladder.ts';
import { agentStarted, ladderRow, machineRow, NOW_MS, orderRow } from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';

const HOUR = 3_600_000;
const NOW: LadderCircumstances = {
  means: { reboot: true, power: true, reinstall: true },
  policy: ERASING_LADDER,
  preserved: false,
  nowMs: NOW_MS,
  askAgainMs: HOUR / 12,
};
/** A reboot failed an hour ago. */
const ASKED = ladderRow({
  ...{ rung: 'rebooting', attempts: 1, askedRung: 'rebooting' },
  ...{ askedAtMs: NOW_MS - HOUR, nextAtMs: NOW_MS - HOUR / 2 },
});
const told = (step: LadderStep | LadderEnd): string =>
  'end' in step ? 'needsHuman' : `${step.rung} ${step.attempt}`;

describe('a machine that fails again and again', () => {
  const DAY = 24 * HOUR;
  /** Days since its earlier recoveries, newest first, and the rung that ended the last of them. */
  const failing = (
    days: readonly number[],
    healedBy: string | null = 'rebooting',
    change: Partial<MachineRow> = {},
  ) =>
    machineRow({
      agentStarted: agentStarted(NOW_MS - HOUR),
      slot: {
        labels: null,
        episodes: days.map((each) => NOW_MS - each * DAY),
        healedBy,
        isRecovering: false,
      },
      ...change,
    });

  test('is chronic after four recoveries within seven days', () => {
    expect(nextStep(failing([1, 2, 3, 6.9]), NOW)).toEqual({
      end: 'it is chronic: it was recovered 4 times within 7d and fails again',
      cause: 'chronic',
    });
    expect(nextStep(failing([1, 2, 3]), NOW)).toMatchObject({ rung: 'rebooting' });
    expect(nextStep(failing([1, 2, 3, 7.1]), NOW)).toMatchObject({ rung: 'rebooting' });
  });

  test('is recovered to the end of an episode that has begun', () => {
    const row = failing([0, 1, 2, 3], 'rebooting', { recovery: ASKED });
    const going = { ...row, slot: { ...row.slot, isRecovering: true } };
    expect(told(nextStep(going, NOW))).toBe('rebooting 2');
    expect(told(nextStep(row, NOW))).toBe('needsHuman');
  });

  test('obeys the order of an operator', () => {
    const row = failing([1, 2, 3, 4], 'rebooting', {
      order: orderRow({ key: 'ann-1', verb: 'reboot' }),
    });
    expect(nextStep(row, NOW)).toMatchObject({ rung: 'rebooting', order: 'ann-1' });
  });

  test('is never chronic where no number of recoveries is configured', () => {
    const policy = { ...ERASING_LADDER, chronic: { episodes: 0, withinMs: 7 * DAY } };
    expect(nextStep(failing([1, 1, 1, 1, 1, 1]), { ...NOW, policy })).toMatchObject({
      rung: 'rebooting',
    });
  });

  testRows([
    ['restartingAgent', 'restartingAgent 1'],
    ['rebooting', 'rebooting 1'],
    ['powerCycling', 'powerCycling 1'],
    ['reinstalling', 'restartingAgent 1'],
    ['soaking', 'restartingAgent 1'],
  ])('begins after a recovery by %s with %s', (healedBy, expected) => {
    expect(told(nextStep(failing([1], healedBy), NOW))).toBe(expected);
  });

  test('begins at the mildest rung if its last recovery was too long ago', () => {
    expect(told(nextStep(failing([8], 'powerCycling'), NOW))).toBe('restartingAgent 1');
  });

  test('begins with a reboot if it never had an agent, whatever healed it before', () => {
    const row = { ...failing([1], 'restartingAgent'), agentStarted: null };
    expect(told(nextStep(row, NOW))).toBe('rebooting 1');
  });
});
