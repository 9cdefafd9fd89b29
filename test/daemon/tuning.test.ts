import { expect, test } from 'vitest';
import { TUNING, guardPolicyOf } from '../../src/daemon/tuning.ts';
import { parseConfig } from '../../src/config.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { env, minimal } from '../config/examples.ts';

test('looks for dead sessions every 10 s', () => {
  expect(TUNING.sweepMs).toBe(10_000);
});

const config = (change: object = {}) => parseConfig({ ...minimal(), ...change }, { env });

test('a minimal configuration gives the policy of the design', () => {
  expect(guardPolicyOf(config(), TUNING)).toEqual(DEFAULT_GUARD);
});

test('takes every figure from the configuration', () => {
  const guard = {
    silentMin: 7,
    silentPercent: 30,
    newFor: '5m',
    calmPercent: 15,
    calmFor: '20m',
    unreachablePercent: 40,
  };
  expect(guardPolicyOf(config({ guard }), TUNING)).toEqual({
    silentMin: 7,
    silentPercent: 30,
    newForMs: 300_000,
    calmPercent: 15,
    calmForMs: 1_200_000,
    unreachablePercent: 40,
    assessMs: DEFAULT_GUARD.assessMs,
    ingestGapMs: DEFAULT_GUARD.ingestGapMs,
  });
});

test.each([
  ['30s', '10m', 5_000, null, 60_000],
  ['1m', '10m', 5_000, null, 120_000],
  ['1s', '10m', 5_000, null, 20_000],
  ['2s', '20s', 5_000, null, 16_000],
  ['2s', '15s', 5_000, null, 12_000],
  ['1s', '5s', 5_000, null, 12_000],
  ['30s', '10m', 5_000, 7_000, 7_000],
])(
  'agents report every %s and may be late by %s, checks are %i ms apart, set: %s; the intake may pause for %i ms',
  (heartbeatPeriod, heartbeatDeadline, assessMs, ingestGapMs, expected) => {
    const agent = { ...minimal().agent, heartbeatPeriod, heartbeatDeadline };
    const policy = guardPolicyOf(config({ agent }), { assessMs, ingestGapMs });
    expect(policy.ingestGapMs).toBe(expected);
  },
);
