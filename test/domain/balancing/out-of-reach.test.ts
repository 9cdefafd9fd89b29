import { describe, expect, test } from 'vitest';
import { WAIVE_MS } from '../../../src/domain/balancing/letting-go.ts';
import type { MemberRow } from '../../../src/domain/balancing/members.ts';
import {
  callAgainMs,
  callRefused,
  type RefusedCall,
  newRemembered,
} from '../../../src/domain/balancing/sights.ts';
import { drain, drop, serve } from '../../support/balancing-stand.ts';
import { M1, M2, M3, pool } from './pool.ts';
import { draining, firstOf, member, moves, NOW, sight, step } from './step-case.ts';
import { testRows } from '../../support/rows.ts';

describe('a balancer that cannot be reached', () => {
  const rows = [member(M1), member(M2)];
  const wishes = [drain(M1, { askedAtMs: NOW - 3_600_000 }), drop(M2)];
  const since = (ms: number, policy: 'require' | 'best-effort') =>
    moves(
      step({
        rows,
        wishes,
        sights: null,
        unreachable: { sinceMs: NOW - ms, why: 'no answer' },
        pool: pool({ drain: { ...pool().drain, policy } }),
      }),
    );
  test('require: after ten minutes who waits is refused, with the reason', () => {
    expect(since(599_999, 'require')).toEqual([]);
    expect(since(600_000, 'require')).toEqual([
      { machineId: M1, refused: true, note: 'refused: balancer edge cannot be reached: no answer' },
    ]);
  });
  test('best-effort: after half a minute it is not waited for', () => {
    expect(since(WAIVE_MS - 1, 'best-effort')).toEqual([]);
    expect(since(WAIVE_MS, 'best-effort')).toMatchObject([{ machineId: M1, waived: true }]);
  });
  test('best-effort: what is only to be away, and holds nobody up, waits as long as that is so', () => {
    const parked = drain(M1, { leaves: true, askedAtMs: null });
    const unreachable = { sinceMs: NOW - 3_600_000, why: 'no answer' };
    const policy = { ...pool().drain, policy: 'best-effort' } as const;
    const about = { rows, sights: null, unreachable, pool: pool({ drain: policy }) };
    expect(step({ ...about, wishes: [parked] })).toMatchObject({ moves: [], dueAtMs: null });
    expect(moves(step({ ...about, wishes: [drain(M1)] }))).toMatchObject([{ waived: true }]);
  });
  test('best-effort: who was not waited for, and may be worked on, is let go without taking that back', () => {
    const waived = [member(M1, { waived: true, note: 'x' }), member(M2)];
    const sights = { [M1]: sight(), [M2]: sight() };
    const told = firstOf({ rows: waived, wishes: [drain(M1), serve(M2)], sights });
    expect(told).toMatchObject({ to: 'draining', waived: true });
  });
  test('when it can be reached again, what was waived is so no more', () => {
    const waived = [member(M1, { waived: true, note: 'x' })];
    const told = firstOf({ rows: waived, wishes: [serve(M1)], sights: { [M1]: sight() } });
    expect(told).toMatchObject({ waived: false, note: null });
  });
});

describe('a balancer that can be read, and refuses to keep connections away', () => {
  const asked = NOW - 3_600_000;
  const open = { [M1]: sight({ sessions: 4 }), [M2]: sight() };
  const after = (ms: number, policy: 'require' | 'best-effort', row: Partial<MemberRow> = {}) => {
    const memory = newRemembered();
    const refused = callRefused(undefined, 'drain', 'read only', NOW - ms);
    memory.refusing.set(M1, refused);
    return step({
      rows: [{ ...draining(M1), ...row }, member(M2)],
      wishes: [drain(M1, { askedAtMs: asked }), serve(M2)],
      sights: open,
      memory,
      pool: pool({ drain: { ...pool().drain, policy } }),
    });
  };
  const why = 'ann asked for reboot: test; balancer edge refuses to let it go: read only';
  test('is told of at once, and once', () => {
    expect(moves(after(1, 'require'))).toEqual([{ machineId: M1, note: why }]);
    expect(after(1, 'require', { note: why })).toMatchObject({ moves: [], isMoving: false });
  });
  testRows([
    [
      'require',
      600_000,
      { refused: true },
      'refused: balancer edge refuses to let it go: read only',
    ],
    [
      'best-effort',
      WAIVE_MS,
      { waived: true },
      'balancer edge refuses to let it go, and is not waited for: read only',
    ],
  ] as const)('%s: as one that cannot be reached', (policy, waitMs, answer, note) => {
    const before = after(waitMs - 1, policy, { note: why });
    expect([before.moves, before.dueAtMs]).toEqual([[], NOW + 1]);
    const told = after(waitMs, policy, { note: why });
    expect(moves(told)).toEqual([{ machineId: M1, ...answer, note }]);
    expect(moves(after(waitMs, policy, { ...answer, note })), 'and once').toEqual([]);
  });
  test('who is refused for long, or since nobody knows when, keeps no other waiting', () => {
    const turn = (ms: number, row: Partial<MemberRow> = {}) => {
      const memory = newRemembered();
      memory.refusing.set(M1, callRefused(undefined, 'drain', 'read only', NOW - ms));
      const rows = [{ ...draining(M1), sinceMs: NOW - ms, ...row }, member(M2), member(M3)];
      const wishes = [drain(M1, { askedAtMs: null }), drain(M2), serve(M3)];
      return moves(step({ rows, wishes, sights: { ...open, [M3]: sight() }, memory }));
    };
    const isNext = (told: ReturnType<typeof turn>) =>
      told.some(({ machineId, to }) => machineId === M2 && to === 'draining');
    expect(isNext(turn(60_000))).toBe(false);
    expect(isNext(turn(60_001))).toBe(true);
    expect(isNext(turn(1, { refused: true, note: why }))).toBe(true);
    expect(turn(600_000)).toContainEqual(expect.objectContaining({ machineId: M1, refused: true }));
  });
  test('when it takes the call, the member has to be let go after all', () => {
    const rows = [{ ...draining(M1), waived: true, note: 'x' }, member(M2)];
    const wishes = [drain(M1), serve(M2)];
    const sights = { [M1]: sight({ mode: 'drain', sessions: 4 }), [M2]: sight() };
    expect(firstOf({ rows, wishes, sights })).toMatchObject({ waived: false });
  });
});

test('what is refused is asked for again after 5, 10, 20, 40 s, and then once a minute', () => {
  let refused: RefusedCall | undefined;
  const pauses = [0, 1, 2, 3, 4, 5].map(() => {
    refused = callRefused(refused, 'drain', 'x', NOW);
    return callAgainMs(refused, 'drain') - NOW;
  });
  expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  expect(callAgainMs(refused!, 'off'), 'another mode at once').toBe(0);
  expect(callRefused(refused, 'off', 'y', NOW + 9)).toMatchObject({ sinceMs: NOW, count: 1 });
});
