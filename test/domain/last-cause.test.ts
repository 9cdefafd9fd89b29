import { describe, expect, test } from 'vitest';
import type { BackoffRow, MachineRow, Process } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { lastFailures } from '../../src/domain/recovery/ladder.ts';
import { viewOf } from '../../src/domain/view.ts';
import { agentStarted, machineRow, NOW_MS, slotFacts } from '../support/facts.ts';

const HOUR = 3_600_000;
const REFUSED = 'connect to root@192.0.2.1:22: every key was refused';
const failed = (process: Process, cause: string, endsInMs: number): BackoffRow => ({
  process,
  cause,
  untilMs: NOW_MS + endsInMs,
  lastIntervalSeconds: 60,
});
const view = (row: Partial<MachineRow>) =>
  viewOf(slotFacts({ row: machineRow(row) }), { nowMs: NOW_MS, loss: DEFAULT_LOSS });
const silent = { agentStarted: agentStarted(NOW_MS - HOUR) };

describe('C5: a machine that something failed on says what', () => {
  test.each<readonly [string, Partial<MachineRow>, string]>([
    [
      'silent, and waits after a failure',
      { ...silent, backoffs: [failed('ShepherdRecovery', 'no route', HOUR)] },
      'silent',
    ],
    [
      'silent, and is due again',
      { ...silent, backoffs: [failed('ShepherdRecovery', 'no route', -1)] },
      'silent',
    ],
    [
      'without an agent, and waits',
      { backoffs: [failed('ShepherdAgentStart', 'no route', HOUR)] },
      'backingOff',
    ],
    [
      'without an agent, and is due again',
      { backoffs: [failed('ShepherdAgentStart', 'no route', -1)] },
      'waiting',
    ],
    [
      'given up',
      {
        startAttempt: { atMs: null, count: 6, unreached: 0 },
        backoffs: [failed('ShepherdAgentStart', 'no route', -1)],
      },
      'waiting',
    ],
  ])('C5: %s', (_, row, substate) => {
    const found = view(row);
    expect(found.substate).toBe(substate);
    expect(found.reason).toContain('no route');
  });

  test('C5: in what bars it the cause is not hidden', () => {
    const { reason } = view({
      ...silent,
      provided: { ...machineRow().provided!, status: 'Provisioning' },
      backoffs: [failed('ShepherdRecovery', 'no route', HOUR)],
    });
    expect(reason).toContain('its provider status does not allow it');
    expect(reason).toContain('no route');
  });
});

describe('C5: the last failures of a machine', () => {
  test('C5: are those of recovery and of agent start, each once, and short', () => {
    const backoffs = [
      failed('ShepherdAgentStart', REFUSED, -HOUR),
      failed('ShepherdRecovery', 'no evidence '.repeat(100), HOUR),
      failed('ShepherdDeprovision', 'locked', HOUR),
    ];
    const told = lastFailures(machineRow({ backoffs }))!;
    expect(told).toContain(`last failure of agent start: ${REFUSED}`);
    expect(told).toContain('last failure of recovery: no evidence');
    expect(told).not.toContain('locked');
    expect(told.length).toBeLessThan(900);
  });

  test('C5: are none where nothing failed', () => {
    expect(lastFailures(machineRow())).toBeNull();
  });
});
