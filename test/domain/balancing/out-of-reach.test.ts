import { describe, expect, test } from 'vitest';
import { WAIVE_MS } from '../../../src/domain/balancing/letting-go.ts';
import type { MemberRow } from '../../../src/domain/balancing/members.ts';
import {
  callAgainMs,
  callRefused,
  type RefusedCall,
  newRemembered,
} from '../../../src/domain/balancing/sights.ts';
import { drain, serve } from '../../support/balancing-stand.ts';
import { M1, M2, M3, pool } from './pool.ts';
import { caseOf, draining, member, moves, NOW, sight, step, toldOf } from './step-case.ts';
import { rowsIn, span } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';

const under = (policy: string) =>
  pool({ drain: { ...pool().drain, policy: policy as 'require' | 'best-effort' } });
const NOT_WAITED =
  'A stays waived (balancer edge cannot be reached, and is not waited for: no answer)';

/** The policy, the time for which the balancer has been unreachable, and the pass. */
testRows(
  rowsIn(`
    require 599999ms; A active, B active | drain A asked1, drop B     →
    require 600s; A active, B active | drain A asked1, drop B         → A stays refused (refused: balancer edge cannot be reached: no answer)
    best-effort 29999ms; A active, B active | drain A asked1, drop B  →
    best-effort 30s; A active, B active | drain A asked1, drop B      → ${NOT_WAITED}
    best-effort 1h; A active, B active | drain A parked               →
    best-effort 1h; A active, B active | drain A                      → ${NOT_WAITED}
  `),
)('handles an unreachable balancer: %s: %s', (words, told) => {
  const [how = '', pass = ''] = words.split('; ');
  const [policy = '', time = ''] = how.split(' ');
  const given = {
    unreachable: { sinceMs: NOW - span(time), why: 'no answer' },
    pool: under(policy),
  };
  expect(toldOf(`${pass} | blind`, given)).toBe(told);
  // A member that only has to be away waits for as long as this is so.
  if (words.includes('parked')) {
    expect(step({ ...caseOf(`${pass} | blind`), ...given }).dueAtMs).toBeNull();
  }
});

testRows(
  rowsIn(`
    A active waived, B active | drain A, serve B | A, B        → A draining 30s waived, A=drain
    A active waived | serve A | A                              → A stays not waived
    A draining waived, B active | drain A, serve B | A drain 4, B → A stays not waived not refused
  `),
)('handles a waived member of a balancer that is reachable again: %s: %s', (words, told) => {
  expect(toldOf(words)).toBe(told);
});

describe('a readable balancer that refuses to drain', () => {
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
      pool: under(policy),
    });
  };
  const why = 'ann asked for reboot: test; balancer edge refuses to drain it: read only';
  test('is reported at once and only once', () => {
    expect(moves(after(1, 'require'))).toEqual([{ machineId: M1, note: why }]);
    expect(after(1, 'require', { note: why })).toMatchObject({ moves: [], isMoving: false });
  });
  testRows([
    [
      'require',
      600_000,
      { refused: true },
      'refused: balancer edge refuses to drain it: read only',
    ],
    [
      'best-effort',
      WAIVE_MS,
      { waived: true },
      'balancer edge refuses to drain it, and is not waited for: read only',
    ],
  ] as const)('is handled like an unreachable one: %s', (policy, waitMs, answer, note) => {
    const before = after(waitMs - 1, policy, { note: why });
    expect([before.moves, before.dueAtMs]).toEqual([[], NOW + 1]);
    const told = after(waitMs, policy, { note: why });
    expect(moves(told)).toEqual([{ machineId: M1, ...answer, note }]);
    expect(moves(after(waitMs, policy, { ...answer, note })), 'and once').toEqual([]);
  });
  test('does not keep other members waiting after a long or undated refusal', () => {
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
});

test('is asked again after 5, 10, 20 and 40 s, then once a minute', () => {
  let refused: RefusedCall | undefined;
  const pauses = [0, 1, 2, 3, 4, 5].map(() => {
    refused = callRefused(refused, 'drain', 'x', NOW);
    return callAgainMs(refused, 'drain') - NOW;
  });
  expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  expect(callAgainMs(refused!, 'off'), 'another mode at once').toBe(0);
  expect(callRefused(refused, 'off', 'y', NOW + 9)).toMatchObject({ sinceMs: NOW, count: 1 });
});
