import { describe, expect, test } from 'vitest';
import { HELD_MS, SET_ASIDE_MS } from '../../../src/domain/balancing/drain-turns.ts';
import type { MemberRow } from '../../../src/domain/balancing/members.ts';
import { newRemembered, rememberGivenBack } from '../../../src/domain/balancing/sights.ts';
import { drain, serve } from '../../support/balancing-stand.ts';
import { M1, M2, M3, pool } from './pool.ts';
import { draining, firstOf, member, moves, NOW, sight, step } from './step-case.ts';
import { testRows } from '../../support/rows.ts';
import { restsOnGuard, wishOf } from '../../../src/domain/balancing/wish.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { viewOf } from '../../../src/domain/view.ts';
import { factsOf } from '../../support/fact-words.ts';
import { NOW_MS } from '../../support/facts.ts';

describe('a machine given back that other pools do not drain', () => {
  const away = (change: Partial<MemberRow>) =>
    member(M1, { state: 'drained', how: 'grace', sinceMs: NOW - HELD_MS, ...change });
  const held = { elsewhere: new Map([[M1, [member(M1, { pool: 'web' })]]]) };
  const one = { wishes: [drain(M1), serve(M2)], sights: { [M1]: sight(), [M2]: sight() } };
  test('serves again and is not drained again at once', () => {
    const told = step({ ...one, ...held, rows: [away({}), member(M2)] });
    expect([told.givenBack, moves(told)]).toEqual([
      [M1],
      [{ machineId: M1, to: 'joining', note: null, waived: false, refused: false }],
    ]);
    const memory = newRemembered();
    rememberGivenBack(memory, [M1], new Map(), NOW);
    const rows = [member(M1), member(M2)];
    expect(firstOf({ ...one, ...held, rows, memory })?.note).toContain('its other pools');
    expect(firstOf({ ...one, rows, memory })?.to, 'they let it go').toBe('draining');
    const nowMs = NOW + SET_ASIDE_MS;
    expect(firstOf({ ...one, ...held, rows, memory, nowMs })?.to).toBe('draining');
  });
  testRows([
    ['when they let it go', away({}), drain(M1), { state: 'draining' }],
    ['before that', away({ sinceMs: NOW - HELD_MS + 1 }), drain(M1), {}],
    ['before it is let go', draining(M1, NOW - HELD_MS), drain(M1), {}],
    ['when it is only parked', away({}), drain(M1, { askedAtMs: null, leaves: true }), {}],
  ] as const)('does not serve again %s', (_, row, wish, other) => {
    const elsewhere = new Map([[M1, [member(M1, { pool: 'web', ...other })]]]);
    const wishes = [wish, serve(M2)];
    expect(step({ ...one, wishes, rows: [row, member(M2)], elsewhere }).givenBack).toEqual([]);
  });
  testRows([
    ['refuse to let it go', { refused: true }],
    ['should have let it go a minute ago', { deadlineMs: NOW - 60_001 }],
  ])('drains %s as well', (_, change) => {
    const other = member(M1, { pool: 'web', state: 'draining', ...change });
    const elsewhere = new Map([[M1, [other]]]);
    expect(step({ ...one, rows: [away({}), member(M2)], elsewhere }).givenBack).toEqual([M1]);
  });
});

test('drains a machine that already drains there before an earlier request', () => {
  const rows = [M1, M2, M3].map((id) => member(id));
  const wishes = [drain(M1, { askedAtMs: 1 }), drain(M2, { askedAtMs: 2 }), serve(M3)];
  const elsewhere = new Map([[M2, [member(M2, { pool: 'web', state: 'drained', how: 'grace' })]]]);
  const begun = (change: object) =>
    moves(step({ rows, wishes, ...change })).find(({ to }) => to === 'draining')?.machineId;
  expect([begun({}), begun({ elsewhere })]).toEqual([M1, M2]);
});

test('serves after a handover when the agent that reboots it is gone', () => {
  const now = { nowMs: NOW_MS, loss: DEFAULT_LOSS, standings: [] };
  const all = { providers: null, locations: null, plans: null, labels: {} };
  const serving = pool({ memberStates: ['Running', 'HandedOver'], select: all });
  const wished = (words: string) => {
    const facts = factsOf(`${words}, install done`);
    const view = { ...viewOf(facts, now), address: '10.0.0.1' };
    expect(restsOnGuard(view)).toBe(true);
    return wishOf(facts, view, serving, now)?.want;
  };
  expect([wished('heard 0'), wished('heard 9m59s999ms'), wished('heard 10m')]).toEqual([
    ...['drop', 'drop', 'serve'],
  ]);
});
