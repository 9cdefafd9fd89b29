import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { GuardRow } from '../../../src/domain/machine.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  FLEET,
  freezeRefusal,
  frozenByOperator,
  graceEndsAtMs,
  graceRefusal,
  isNear,
  judgeGuard,
  markIngest,
  silentLimit,
  suspicionRefusal,
  thawedByOperator,
} from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../src/domain/recovery/guard-judgement.ts';
import { noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const NOW = 1_700_000_000_000;
const WATCHED = { assessedAtMs: NOW - 5_000 };
const countsOf = (scope: string, change: Partial<GuardCounts>): GuardCounts => ({
  ...{ ...noCounts(scope), machines: 100, started: 100 },
  ...change,
});
const judge = (
  rows: readonly GuardRow[],
  counts: readonly GuardCounts[],
  { pulse = WATCHED, nowMs = NOW } = {},
) => judgeGuard(rows, counts, pulse, DEFAULT_GUARD, nowMs);
const judged = (change: Partial<GuardCounts>, row: GuardRow = calmRow('metal')) =>
  judge([row], [countsOf('metal', change)]);
const frozenRow = (kind: 'silence' | 'probes' | 'manual', change: Partial<GuardRow> = {}) => ({
  ...calmRow('metal'),
  frozen: { atMs: NOW - 30 * MINUTE, by: 'guard', kind, reason: 'x' },
  ...change,
});

describe('S7: a scope is frozen when too many of it fall silent together', () => {
  testRows([
    ['none', { started: 20 }, false],
    ['5 of 20, the least limit', { started: 20, newlySilent: 5 }, false],
    ['6 of 20', { started: 20, newlySilent: 6 }, true],
    ['5 of 25, where both limits meet', { started: 25, newlySilent: 5 }, false],
    ['6 of 30, exactly 20 %', { started: 30, newlySilent: 6 }, false],
    ['7 of 30', { started: 30, newlySilent: 7 }, true],
    ['6 of 29, just above 20 %', { started: 29, newlySilent: 6 }, true],
    ['20 of 100', { started: 100, newlySilent: 20 }, false],
    ['21 of 100', { started: 100, newlySilent: 21 }, true],
    ['20 000 of 100 000', { started: 100_000, newlySilent: 20_000 }, false],
    ['20 001 of 100 000', { started: 100_000, newlySilent: 20_001 }, true],
    ['A8: the only one of a provider', { machines: 1, started: 1, newlySilent: 1 }, false],
    ['A8: one of two', { machines: 2, started: 2, newlySilent: 1, silent: 1 }, false],
    ['A8: both of two', { machines: 2, started: 2, newlySilent: 2, silent: 2 }, true],
    ['A8: one of three', { machines: 3, started: 3, newlySilent: 1, silent: 1 }, false],
    ['A8: two of three', { machines: 3, started: 3, newlySilent: 2, silent: 2 }, true],
    ['A8: half of four', { machines: 4, started: 4, newlySilent: 2, silent: 2 }, false],
    ['A8: three of four', { machines: 4, started: 4, newlySilent: 3, silent: 3 }, true],
    ['A8: all of four', { machines: 4, started: 4, newlySilent: 4, silent: 4 }, true],
    ['A8: half of eight', { machines: 8, started: 8, newlySilent: 4, silent: 4 }, false],
    ['A8: five of nine', { machines: 9, started: 9, newlySilent: 5, silent: 5 }, true],
    ['half of ten, from where on `silentMin` says', { started: 10, newlySilent: 5 }, false],
    ['6 of 10', { started: 10, newlySilent: 6 }, true],
    ['all, but long ago', { started: 100, silent: 100, newlySilent: 0 }, false],
    ['all late, which is suspicion only', { started: 100, quiet: 100 }, false],
  ] as const)('judges by the counts: %s', (_, counts, freezes) => {
    const { rows, changes, written } = judged(counts);
    expect(changes).toEqual(freezes ? [{ scope: 'metal', now: 'frozen' }] : []);
    expect(written).toEqual(freezes ? rows : []);
    if (!freezes) return;
    expect(rows[0]).toMatchObject({
      frozen: { atMs: NOW, by: 'guard', kind: 'silence' },
      calmSinceMs: null,
    });
  });

  testRows([
    ['50 of 100, exactly half', { unreachable: 50 }, false],
    ['51 of 100', { unreachable: 51 }, true],
    ['A8: the only one', { machines: 1, started: 0, unreachable: 1 }, false],
    ['A8: one of two', { machines: 2, started: 0, unreachable: 1 }, false],
    ['A8: both of two', { machines: 2, started: 0, unreachable: 2 }, true],
    ['A8: half of six', { machines: 6, started: 0, unreachable: 3 }, false],
    ['A8: four of six', { machines: 6, started: 0, unreachable: 4 }, true],
  ] as const)('probes: %s cannot be reached', (_, counts, freezes) => {
    const { rows, changes } = judged(counts);
    expect(changes).toEqual(freezes ? [{ scope: 'metal', now: 'frozen' }] : []);
    expect(rows[0]?.frozen?.kind).toBe(freezes ? 'probes' : undefined);
  });

  it('each for itself: a provider goes silent, and the fleet goes on', () => {
    const { rows, changes } = judge(
      [calmRow(FLEET)],
      [
        countsOf(FLEET, { started: 1_000, newlySilent: 150 }),
        countsOf('metal', { started: 150, newlySilent: 150 }),
        countsOf('static', { started: 850 }),
      ],
    );
    expect(changes).toEqual([{ scope: 'metal', now: 'frozen' }]);
    expect(rows.map(({ scope, frozen }) => [scope, frozen !== null])).toEqual([
      [FLEET, false],
      ['metal', true],
    ]);
  });

  it('a dead rack is no freeze: locations are no scope', () => {
    const { changes } = judge(
      [calmRow(FLEET)],
      [
        countsOf(FLEET, { started: 300, newlySilent: 30, silent: 30 }),
        countsOf('metal', { started: 300, newlySilent: 30, silent: 30 }),
      ],
    );
    expect(changes).toEqual([]);
  });
});

describe('a freeze', () => {
  const calm = { started: 100, silent: 9 };
  testRows([
    ['9 of 100 silent', { silent: 9 }, true],
    ['10 of 100, exactly 10 %', { silent: 10 }, false],
    ['none of none', { machines: 0, started: 0 }, true],
    ['1 of 10, exactly 10 %', { started: 10, silent: 1 }, false],
    ['1 of 11', { started: 11, silent: 1 }, true],
    ['none of 3', { started: 3 }, true],
    ['A8: one of two, the other being back', { machines: 2, started: 2, silent: 1 }, true],
    ['A8: one of nine', { machines: 9, started: 9, silent: 1 }, true],
    ['A8: two of nine', { machines: 9, started: 9, silent: 2 }, false],
    ['A8: the only one there is', { machines: 1, started: 1, silent: 1 }, false],
    ['9 silent, 24 unreachable', { silent: 9, unreachable: 24 }, true],
  ] as const)('begins to be calm with %s: %s', (_, counts, isCalm) => {
    const { rows, changes } = judged(counts, frozenRow('silence'));
    expect(rows[0]!.calmSinceMs).toBe(isCalm ? NOW : null);
    expect(changes).toEqual([]);
  });

  testRows([
    ['24 of 100, less than half the limit', 24, true],
    ['25 of 100, half of it', 25, false],
  ] as const)('for probes is calm with %s', (_, unreachable, isCalm) => {
    const { rows } = judged({ unreachable }, frozenRow('probes'));
    expect(rows[0]!.calmSinceMs).toBe(isCalm ? NOW : null);
  });

  testRows([
    [1, 1, false],
    [2, 1, true],
    [3, 1, true],
    [4, 1, true],
    [3, 2, false],
    [4, 2, false],
    [9, 2, true],
    [9, 3, false],
  ])(
    'A8: for probes, of %i machines, is calm with %i unreachable: %s',
    (machines, gone, isCalm) => {
      const few = { machines, started: machines, unreachable: gone };
      const { rows } = judged(few, frozenRow('probes'));
      expect(rows[0]!.calmSinceMs).toBe(isCalm ? NOW : null);
    },
  );

  test('A8: of none silent or unreachable at all, where the policy wants it so', () => {
    const few = [countsOf('metal', { machines: 2, started: 2, silent: 1 })];
    const strict = { ...DEFAULT_GUARD, calmPercent: 0 };
    const { rows } = judgeGuard([frozenRow('silence')], few, WATCHED, strict, NOW);
    expect(rows[0]!.calmSinceMs).toBeNull();
  });

  it.each([
    ['9 min 59 s', 10 * MINUTE - 1_000, false],
    ['10 min', 10 * MINUTE, true],
  ])('after %s of calm: thawed %s', (_, calmForMs, isOver) => {
    const row = frozenRow('silence', { calmSinceMs: NOW - calmForMs });
    const { rows, changes } = judged(calm, row);
    expect(changes).toEqual(isOver ? [{ scope: 'metal', now: 'thawed' }] : []);
    expect(rows[0]).toEqual(isOver ? { ...row, frozen: null, calmSinceMs: null } : row);
  });

  it('begins to count anew when too many are silent again', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 9 * MINUTE });
    const { rows } = judged({ silent: 10 }, row);
    expect(rows[0]).toMatchObject({ calmSinceMs: null, frozen: row.frozen });
    const again = judge(rows, [countsOf('metal', calm)], { nowMs: NOW + MINUTE });
    expect(again.rows[0]!.calmSinceMs).toBe(NOW + MINUTE);
  });

  it('counts no calm that nobody watched', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 11 * MINUTE });
    const pulse = { assessedAtMs: NOW - DEFAULT_GUARD.ingestGapMs - 1 };
    const { rows, changes } = judge([row], [countsOf('metal', calm)], { pulse });
    expect([rows[0]!.calmSinceMs, changes]).toEqual([NOW, []]);
  });

  it('does not thaw into the next one', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 11 * MINUTE });
    const { rows, changes } = judged({ unreachable: 60 }, row);
    expect([rows[0]!.calmSinceMs, changes]).toEqual([null, []]);
  });

  it('keeps its beginning and its reason', () => {
    const row = frozenRow('silence');
    const { rows, written } = judged({ newlySilent: 90, silent: 90 }, row);
    expect([rows, written]).toEqual([[row], []]);
  });

  it('of a provider that is gone thaws', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 10 * MINUTE });
    expect(judge([row], []).changes).toEqual([{ scope: 'metal', now: 'thawed' }]);
  });
});

describe('an operator', () => {
  it('freezes for as long as he says', () => {
    const row = frozenByOperator(calmRow('metal'), { by: 'ann', reason: 'move' }, NOW);
    const frozen = { atMs: NOW, by: 'ann', kind: 'manual', reason: 'move' };
    expect(row).toEqual({ ...calmRow('metal'), frozen });
    const later = judge([row], [countsOf('metal', {})], { nowMs: NOW + 86_400_000 });
    expect([later.rows, later.written, later.changes]).toEqual([[row], [], []]);
  });

  it('takes a freeze over, which then does not end by itself', () => {
    const before = frozenRow('silence', { calmSinceMs: NOW - 11 * MINUTE });
    const row = frozenByOperator(before, { by: 'ann', reason: 'move' }, NOW);
    expect(row.frozen).toEqual({ ...before.frozen, by: 'ann', kind: 'manual', reason: 'move' });
    expect(judged({}, row).changes).toEqual([]);
  });

  it('thaws, and it stays so until others fall silent', () => {
    const row = thawedByOperator(frozenRow('manual'), NOW);
    expect(row).toEqual({ ...calmRow('metal'), thawedAtMs: NOW });
    // Whom he has seen is no longer counted as new.
    expect(judged({ silent: 60, newlySilent: 0 }, row).changes).toEqual([]);
    expect(judged({ silent: 81, newlySilent: 21 }, row).rows[0]).toMatchObject({
      frozen: { kind: 'silence' },
      thawedAtMs: NOW,
    });
  });
});

it('a judgement is written once', () => {
  const scope = fc.constantFrom(FLEET, 'metal', 'static');
  const few = fc.nat({ max: 60 });
  const counts = fc.uniqueArray(
    fc.record({
      scope,
      machines: few,
      started: few,
      silent: few,
      newlySilent: few,
      quiet: few,
      unreachable: few,
    }),
    { selector: (each) => each.scope, maxLength: 3 },
  );
  fc.assert(
    fc.property(counts, (each) => {
      const first = judge([calmRow(FLEET)], each);
      const second = judge(first.rows, each);
      expect(second.changes).toEqual([]);
      const third = judge(second.rows, each);
      expect([third.rows, third.written]).toEqual([second.rows, []]);
    }),
  );
});

describe('when the clock has gone back by an hour', () => {
  const ahead = NOW + 60 * MINUTE;

  it('a thaw is one of now: who falls silent from now on is seen', () => {
    const { rows, written, changes } = judged({}, { ...calmRow('metal'), thawedAtMs: ahead });
    expect(rows).toEqual([{ ...calmRow('metal'), thawedAtMs: NOW }]);
    expect([written, changes]).toEqual([rows, []]);
  });

  it('a freeze is one of now, whoever froze it; and so is the calm', () => {
    const frozen = { atMs: ahead, by: 'ann', kind: 'manual', reason: 'x' } as const;
    const manual = judged({}, { ...calmRow('metal'), frozen });
    expect(manual.rows[0]!.frozen).toEqual({ ...frozen, atMs: NOW });
    const row = frozenRow('silence', { calmSinceMs: ahead });
    expect(judged({ started: 100, silent: 9 }, row).rows[0]!.calmSinceMs).toBe(NOW);
  });

  it('nobody has watched it', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 60 * MINUTE });
    const counts = [countsOf('metal', { started: 100, silent: 9 })];
    const { rows } = judge([row], counts, { pulse: { assessedAtMs: ahead } });
    expect(rows[0]).toEqual({ ...row, calmSinceMs: NOW });
  });
});

const LIMITS = { gapMs: MINUTE, heartbeatMs: 10 * MINUTE };
const UP: Ingest = { seenAtMs: NOW - 5_000, upSinceMs: NOW - 3_600_000, lostAtMs: null };

describe('S6: the intake of heartbeats', () => {
  const NEVER: Ingest = { seenAtMs: null, upSinceMs: null, lostAtMs: null };
  const mark = (before: Ingest, up: boolean, nowMs = NOW) =>
    markIngest(before, { up, nowMs }, LIMITS);

  it('begins with the first daemon that takes some in', () => {
    expect(mark(NEVER, false)).toEqual(NEVER);
    expect(mark(NEVER, true)).toEqual({ seenAtMs: NOW, upSinceMs: NOW, lostAtMs: null });
  });

  it('goes on while some daemon does, whatever the others say', () => {
    expect(mark(UP, false)).toEqual(UP);
    expect(mark(UP, true)).toEqual({ ...UP, seenAtMs: NOW });
  });

  it.each([
    ['60 s', MINUTE, false],
    ['more than 60 s', MINUTE + 1, true],
  ])('after a gap of %s: is broken %s', (_, gapMs, isBroken) => {
    const seenAtMs = NOW - gapMs;
    const after = mark({ ...UP, seenAtMs }, true);
    expect(after.upSinceMs).toBe(isBroken ? NOW : UP.upSinceMs);
    expect(after.lostAtMs).toBe(isBroken ? seenAtMs : null);
  });

  it('is told to be broken by a daemon that only looks', () => {
    const seenAtMs = NOW - 2 * MINUTE;
    const down = mark({ ...UP, seenAtMs }, false);
    expect(down).toEqual({ seenAtMs, upSinceMs: null, lostAtMs: seenAtMs });
    expect(mark(down, true)).toEqual({ seenAtMs: NOW, upSinceMs: NOW, lostAtMs: seenAtMs });
  });

  it('takes breaks between which nobody could be found lost for one', () => {
    const first = NOW - 30 * MINUTE;
    const between: Ingest = {
      seenAtMs: NOW - 9 * MINUTE,
      upSinceMs: NOW - 15 * MINUTE,
      lostAtMs: first,
    };
    expect(mark(between, true).lostAtMs).toBe(first);
    const longer = { ...between, upSinceMs: NOW - 19 * MINUTE };
    expect(mark(longer, true).lostAtMs).toBe(longer.seenAtMs);
  });

  it('takes times that are ahead for those of now: the clock went back', () => {
    const backMs = NOW - 2 * 3_600_000;
    const known = { ...UP, lostAtMs: NOW - 90 * MINUTE };
    const marked = { seenAtMs: backMs, upSinceMs: backMs, lostAtMs: backMs };
    expect(mark(known, true, backMs)).toEqual(marked);
    expect(mark(known, false, backMs)).toEqual(marked);
    expect(graceRefusal(marked, backMs, LIMITS)).toContain('600 s');
    // And is broken again once nobody takes any in.
    expect(mark(marked, false, backMs + 2 * MINUTE).upSinceMs).toBeNull();
  });

  testRows([
    [null, false],
    [NOW, true],
    [NOW - 4_999, true],
    [NOW - 5_000, false],
    [NOW + 4_999, true],
    [NOW + 5_000, false],
  ])('a look at %s was lately: %s', (atMs, isLately) => {
    expect(isNear(atMs, NOW, 5_000)).toBe(isLately);
  });

  testRows([
    ['never', NEVER, true],
    ['long and now', UP, false],
    ['since just below 10 min', { ...UP, upSinceMs: NOW - 10 * MINUTE + 1 }, true],
    ['since 10 min', { ...UP, upSinceMs: NOW - 10 * MINUTE }, false],
    ['last 60 s ago', { ...UP, seenAtMs: NOW - MINUTE }, false],
    ['last more than 60 s ago', { ...UP, seenAtMs: NOW - MINUTE - 1 }, true],
    ['not now', { ...UP, upSinceMs: null }, true],
  ] as const)('gives grace by what is known of the intake: %s: %s', (_, ingest, isGrace) => {
    expect(graceRefusal(ingest, NOW, LIMITS) !== null).toBe(isGrace);
  });

  it('says how long the grace lasts', () => {
    const upSinceMs = NOW - 9 * MINUTE;
    expect(graceRefusal({ ...UP, upSinceMs }, NOW, LIMITS)).toContain('60 s');
    expect(graceEndsAtMs({ upSinceMs }, LIMITS)).toBe(NOW + MINUTE);
    expect(graceEndsAtMs({ upSinceMs: null }, LIMITS)).toBeNull();
  });
});

describe('texts', () => {
  it('say which scope is frozen, and why', () => {
    expect(freezeRefusal(calmRow('metal'))).toBeNull();
    expect(freezeRefusal(frozenRow('manual'))).toBe('provider metal is frozen: x');
    expect(freezeRefusal({ ...frozenRow('manual'), scope: FLEET })).toBe('the fleet is frozen: x');
  });

  testRows([
    [1, 1, false],
    [2, 2, true],
    [2, 4, false],
    [3, 4, true],
    [5, 20, false],
    [6, 20, true],
    [20, 100, false],
    [21, 100, true],
  ])('%i quiet of %i are suspicious: %s', (quiet, started, isSuspicious) => {
    expect(quiet > silentLimit(DEFAULT_GUARD, started)).toBe(isSuspicious);
    const why = suspicionRefusal({ scope: 'metal', quiet, started }, DEFAULT_GUARD);
    expect(why).toBe(
      isSuspicious
        ? `${quiet} of ${started} started machines of provider metal are late or silent together`
        : null,
    );
  });
});
