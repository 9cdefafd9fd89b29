import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { previousWaitSeconds } from '../../../src/domain/eligibility.ts';
import { DEFAULT_ESCALATION } from '../../../src/domain/policy.ts';
import { DEFAULT_LADDER, nextStep } from '../../../src/domain/recovery/ladder.ts';
import { agentStarted, ladderRow, machineRow, NOW_MS } from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';

const now = (means: { reboot: boolean; power: boolean; reinstall: boolean }) => ({
  means,
  policy: DEFAULT_LADDER,
  preserved: false,
  nowMs: NOW_MS,
  askAgainMs: 300_000,
});
const anyMeans = fc.record({ reboot: fc.boolean(), power: fc.boolean(), reinstall: fc.boolean() });

describe('C4: failures that never reached a machine', () => {
  test('C4: need no person while fewer than six others happened', () => {
    fc.assert(
      fc.property(anyMeans, fc.nat(30), fc.nat(30), (means, unreached, reached) => {
        const startAttempt = { atMs: null, count: unreached + reached, unreached };
        const step = nextStep(machineRow({ startAttempt }), now(means));
        if (means.reboot || means.power) {
          expect('rung' in step, 'a stronger means is tried, reached or not').toBe(true);
          return;
        }
        const isHopeful = reached < DEFAULT_ESCALATION.failuresMax;
        expect('end' in step && step.startAgain === true).toBe(isHopeful);
      }),
    );
  });

  test('C4: an agent start whose daemon died long ago needs no person either', () => {
    const startAttempt = { atMs: NOW_MS - 3_600_000, count: 0, unreached: 0 };
    const none = { reboot: false, power: false, reinstall: false };
    const step = nextStep(machineRow({ startAttempt }), now(none));
    expect(step).toMatchObject({ startAgain: true });
    expect(step).toHaveProperty('end', expect.stringContaining('never recorded'));
  });

  testRows(['rebooting', 'powerCycling', 'reinstalling'] as const)(
    'C4: need a person when %s did not help, so that retries end',
    (rung) => {
      const recovery = ladderRow({ rung, attempts: 100, nextAtMs: NOW_MS - 1 });
      const startAttempt = { atMs: null, count: 6, unreached: 6 };
      const all = { reboot: true, power: true, reinstall: true };
      const step = nextStep(machineRow({ startAttempt, recovery }), {
        ...now(all),
        policy: { ...DEFAULT_LADDER, powerCycling: { attempts: 0, patienceMs: 60_000 } },
      });
      expect(step).toHaveProperty('end');
      expect(step).not.toHaveProperty('startAgain');
    },
  );

  test('C4: do not count while an agent runs, where the ladder counts', () => {
    const row = machineRow({
      agentStarted: agentStarted(NOW_MS - 3_600_000),
      startAttempt: { atMs: null, count: 9, unreached: 9 },
    });
    const none = { reboot: false, power: false, reinstall: false };
    expect(nextStep(row, now(none))).toMatchObject({ rung: 'restartingAgent', attempt: 1 });
  });
});

describe('C4: make the next wait longer', () => {
  const backoffs = [
    { process: 'ShepherdRecovery' as const, untilMs: NOW_MS, cause: 'no', lastIntervalSeconds: 90 },
  ];
  const heard = (atMs: number) =>
    machineRow({
      backoffs,
      agentStarted: agentStarted(NOW_MS - 3_600_000),
      heartbeat: { atMs, bootId: null },
    });

  testRows([
    ['never heard', machineRow({ backoffs }), 90],
    ['not heard since it ended', heard(NOW_MS), 90],
    ['heard since', heard(NOW_MS + 1), null],
    ['nothing failed', machineRow({}), null],
  ])('C4: wait as the backoff says: %s', (_, row, expected) => {
    expect(previousWaitSeconds(row, 'ShepherdRecovery')).toBe(expected);
  });
});
