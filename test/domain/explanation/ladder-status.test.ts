import { expect, test } from 'vitest';
import { ladderStatus } from '../../../src/domain/explanation/ladder-status.ts';
import { DEFAULT_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { agentStarted, ladderRow, liveWork, machineRow, NOW_MS } from '../../support/facts.ts';

const MINUTE = 60_000;
const now = {
  means: { reboot: true, power: false, reinstall: true },
  ...{ policy: DEFAULT_LADDER, preserved: false, nowMs: NOW_MS, askAgainMs: 0 },
};
const lost = { agentStarted: agentStarted(NOW_MS - 300 * MINUTE) };

test('shows the present rung, the past and future ones, and why some are left out', () => {
  const recovery = ladderRow({ rung: 'rebooting', attempts: 2, nextAtMs: NOW_MS + MINUTE });
  const { rungs, coolsUntilMs, patienceEndsAtMs, next } = ladderStatus(
    machineRow({ ...lost, recovery }),
    now,
  );
  expect(
    rungs.map(({ rung, place, attempts, attemptsMax, bar }) => [
      ...[rung, place, attempts, attemptsMax],
      bar,
    ]),
  ).toEqual([
    ['restartingAgent', 'passed', 0, 2, null],
    ['rebooting', 'here', 2, 3, null],
    ['resettingBmc', 'ahead', 0, 1, 'its provider cannot'],
    ['powerCycling', 'ahead', 0, expect.any(Number), 'its provider cannot'],
    ['reinstalling', 'ahead', 0, 0, 'recovery may not erase its disks'],
  ]);
  expect([coolsUntilMs, patienceEndsAtMs]).toEqual([NOW_MS + MINUTE, null]);
  expect(next).toEqual({ rung: 'rebooting', attempt: 3, end: null });
});

test('gives a request up when its patience ends, while work runs', () => {
  const recovery = ladderRow({
    ...{ rung: 'rebooting', attempts: 2, askedRung: 'rebooting', askedAtMs: NOW_MS - MINUTE - 0.5 },
  });
  const row = machineRow({ ...lost, recovery, work: [liveWork('ShepherdRecovery')] });
  expect(ladderStatus(row, now).patienceEndsAtMs).toBe(NOW_MS + 14 * MINUTE);
  expect(ladderStatus({ ...row, work: [] }, now).patienceEndsAtMs).toBeNull();
});

test('says so at the end of the ladder', () => {
  const recovery = ladderRow({ rung: 'rebooting', attempts: 3 });
  const { next, rungs } = ladderStatus(machineRow({ ...lost, recovery }), now);
  expect(next).toMatchObject({ rung: null, end: expect.stringContaining('cannot') });
  expect(rungs.filter(({ place }) => place === 'here')).toHaveLength(1);
});

test('shows no past rungs before an episode', () => {
  const { rungs, next } = ladderStatus(machineRow(lost), now);
  expect(new Set(rungs.map(({ place }) => place))).toEqual(new Set(['ahead']));
  expect(next).toMatchObject({ rung: 'restartingAgent', attempt: 1 });
});
