import { expect, test } from 'vitest';
import type { LadderRow } from '../../../src/domain/machine.ts';
import {
  DEFAULT_LADDER,
  ERASING_LADDER,
  nextStep,
  type LadderCircumstances,
} from '../../../src/domain/recovery/ladder.ts';
import { agentStarted, machineRow, NOW_MS } from '../../support/facts.ts';
import type { StandingRung } from '../../../src/domain/recovery/rung-names.ts';

const HOUR = 3_600_000;
const NONE = { reboot: false, power: false, reinstall: false };
const now = (change: Partial<LadderCircumstances> = {}): LadderCircumstances => ({
  means: { reboot: true, power: true, reinstall: true },
  policy: ERASING_LADDER,
  preserved: false,
  nowMs: NOW_MS,
  askAgainMs: 300_000,
  ...change,
});
/** So many attempts on the rung, the last one an hour ago, and it failed. */
const failed = (rung: StandingRung, attempts: number): LadderRow => ({
  rung,
  attempts,
  askedRung: rung,
  askedAtMs: NOW_MS - HOUR,
  nextAtMs: NOW_MS - HOUR / 2,
  orderKey: null,
  operationRef: null,
  bootIdBefore: null,
  hostKeyBefore: null,
  offSeenAtMs: null,
  powerOffAskedAtMs: null,
});
const lost = (recovery: LadderRow | null) =>
  machineRow({ agentStarted: agentStarted(NOW_MS - HOUR), recovery });

test('tells the person what was tried', () => {
  expect(nextStep(lost(failed('reinstalling', 2)), now())).toEqual({
    end: '2 attempts at reinstalling it did not help; no other means is left',
  });
  const policy = { ...ERASING_LADDER, restartingAgent: { attempts: 0, patienceMs: 1 } };
  expect(nextStep(lost(null), now({ means: NONE, policy }))).toEqual({
    end:
      'it does not come back; restarting its agent: the configuration leaves it out; ' +
      'rebooting it, switching it off and on, reinstalling it: its provider cannot',
  });
});

test('A1: says that it stopped before disks, and does not speak of what was never tried', () => {
  expect(nextStep(lost(failed('powerCycling', 2)), now({ policy: DEFAULT_LADDER }))).toEqual({
    end:
      '2 attempts at switching it off and on did not help; ' +
      'reinstalling it: recovery may not erase its disks',
  });
  expect(nextStep(lost(failed('powerCycling', 2)), now({ preserved: true }))).toEqual({
    end:
      '2 attempts at switching it off and on did not help; ' +
      'reinstalling it: a hold preserves what is on it',
  });
});
