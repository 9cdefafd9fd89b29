import { describe, expect, test } from 'vitest';
import type { GuardRow } from '../../../src/domain/machine.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  type GuardCounts,
} from '../../../src/domain/recovery/guard-judgement.ts';
import {
  BLIND,
  gravest,
  recoveryBar,
  guardStatuses,
  type GuardStatus,
  type GuardState,
} from '../../../src/domain/recovery/guard-status.ts';
import { noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import { NOW_MS } from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const up = (agoMs: number | null, change: Partial<GuardRow> = {}): GuardRow => ({
  ...calmRow('fleet'),
  ingestUpSinceMs: agoMs === null ? null : NOW_MS - agoMs,
  ...change,
});
const counts = (change: Partial<GuardCounts> = {}): GuardCounts => ({
  ...{ ...noCounts('fleet'), machines: 100, started: 100 },
  ...change,
});
const frozen = (change: Partial<NonNullable<GuardRow['frozen']>> = {}) => ({
  atMs: NOW_MS - MINUTE,
  by: 'guard',
  kind: 'silence' as const,
  reason: 'many are silent',
  untilMs: null,
  ...change,
});
const judge = (rows: GuardRow[], found: GuardCounts[] = []) =>
  guardStatuses(
    { rows, counts: found },
    { nowMs: NOW_MS, policy: DEFAULT_GUARD, heartbeatMs: 10 * MINUTE },
  );
const stateOf = (standings: readonly GuardStatus[], scope = 'fleet') =>
  standings.find((each) => each.scope === scope)?.state;

describe('the guard of the fleet', () => {
  testRows([
    ['heartbeats are not taken in', up(null), counts(), 'grace'],
    ['no row was ever written', calmRow('stub'), counts(), 'grace'],
    ['they are, for less than a deadline', up(10 * MINUTE - 1), counts(), 'grace'],
    ['they are, for a whole deadline', up(10 * MINUTE), counts(), 'watching'],
    ['as many are quiet as may be', up(20 * MINUTE), counts({ quiet: 20 }), 'watching'],
    ['more are quiet', up(20 * MINUTE), counts({ quiet: 21 }), 'suspicious'],
    ['A8: a small one, half quiet', up(20 * MINUTE), counts({ started: 6, quiet: 3 }), 'watching'],
    ['A8: a small one, more', up(20 * MINUTE), counts({ started: 6, quiet: 4 }), 'suspicious'],
    ['frozen', up(20 * MINUTE, { frozen: frozen() }), counts({ quiet: 50 }), 'frozen'],
    ['frozen in grace', up(null, { frozen: frozen() }), counts(), 'frozen'],
  ] as const)('shows its state: %s', (_, row, found, state) => {
    expect(stateOf(judge([row], [found]))).toBe(state);
  });

  test('dates a grace time by the acceptance of heartbeats and a freeze by itself', () => {
    expect(judge([up(MINUTE)])[0]).toMatchObject({ state: 'grace', sinceMs: NOW_MS - MINUTE });
    expect(judge([up(null, { frozen: frozen() })])[0]).toEqual({
      scope: 'fleet',
      state: 'frozen',
      sinceMs: NOW_MS - MINUTE,
      reason: 'many are silent',
    });
    const byHand = frozen({ kind: 'manual', by: 'ann', reason: 'power works' });
    expect(judge([up(null, { frozen: byHand })])[0]!.reason).toBe('ann: power works');
  });
});

test('lists the fleet first, then each provider; only the fleet has a grace time', () => {
  const found = [
    counts({ scope: 'b', quiet: 60 }),
    counts({ scope: 'fleet', started: 300, quiet: 60 }),
    counts({ scope: 'a' }),
  ];
  const standings = judge([{ ...calmRow('c'), frozen: frozen() }, up(MINUTE)], found);
  expect(standings.map(({ scope, state }) => [scope, state])).toEqual([
    ['fleet', 'grace'],
    ['c', 'frozen'],
    ['b', 'suspicious'],
    ['a', 'watching'],
  ]);
});

test('shows the gravest state first: unknown, frozen, grace, suspicious, watching', () => {
  const of = (...states: GuardState[]) =>
    gravest(states.map((state) => ({ scope: 'x', state, sinceMs: null, reason: null }))).state;
  expect(gravest([])).toBe(BLIND);
  expect(of('watching')).toBe('watching');
  expect(of('watching', 'suspicious')).toBe('suspicious');
  expect(of('suspicious', 'grace', 'watching')).toBe('grace');
  expect(of('frozen', 'grace')).toBe('frozen');
  expect(of('frozen', 'blind')).toBe('blind');
});

test('gives the reason of a bar, and other providers have none', () => {
  const standings = judge(
    [up(20 * MINUTE), { ...calmRow('stub'), frozen: frozen() }],
    [counts(), counts({ scope: 'other' })],
  );
  expect(recoveryBar(standings, 'stub', false)).toBe('many are silent');
  expect(recoveryBar(standings, 'stub', true)).toBe('many are silent');
  expect(recoveryBar(standings, 'other', false)).toBeNull();
  expect(recoveryBar(standings, 'never seen', false)).toBeNull();
  expect(recoveryBar([], 'stub', true)).toBe(BLIND.reason);
});
