import { describe, expect, test } from 'vitest';
import type { BackoffRow, Process } from '../../src/domain/machine.ts';
import { lastFailures } from '../../src/domain/recovery/ladder.ts';
import { machineRow, NOW_MS } from '../support/facts.ts';

const HOUR = 3_600_000;
const REFUSED = 'connect to root@192.0.2.1:22: every key was refused';
const failed = (process: Process, cause: string, endsInMs: number): BackoffRow => ({
  process,
  cause,
  untilMs: NOW_MS + endsInMs,
  lastIntervalSeconds: 60,
});

describe('C5: the last failures of a machine', () => {
  test('C5: are those of recovery and agent start, each once and short', () => {
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

  test('C5: are empty when nothing failed', () => {
    expect(lastFailures(machineRow())).toBeNull();
  });
});
