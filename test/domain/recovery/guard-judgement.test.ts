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
  suspicionRefusal,
  thawedByOperator,
} from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../src/domain/recovery/guard-judgement.ts';
import { noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import { rowsIn, span } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const NOW = 1_700_000_000_000;
const WATCHED = { assessedAtMs: NOW - 5_000 };
const NONE = noCounts('metal');
const frozenRow = (kind: 'silence' | 'probes' | 'manual', change: Partial<GuardRow> = {}) => ({
  ...calmRow('metal'),
  frozen: { atMs: NOW - 30 * MINUTE, by: 'guard', kind, reason: 'x', untilMs: null },
  ...change,
});
const judge = (
  rows: readonly GuardRow[],
  counts: readonly Partial<GuardCounts>[],
  { pulse = WATCHED, nowMs = NOW, policy = DEFAULT_GUARD } = {},
) =>
  judgeGuard(
    rows,
    counts.map((each) => ({ ...NONE, machines: 100, started: 100, ...each })),
    ...([pulse, policy, nowMs] as const),
  );
const judged = (change: Partial<GuardCounts>, row: GuardRow = calmRow('metal')) =>
  judge([row], [change]);

/** The state of a scope: what froze it, and for how long it has been calm. */
const textOf = ({ frozen, calmSinceMs }: GuardRow) =>
  `${frozen?.kind ?? 'free'}${calmSinceMs === null ? '' : ` calm ${(NOW - calmSinceMs) / 1_000}s`}`;
/**
 * `silence calm 3m; 9 silent, 60 unreachable of 100`: the earlier state, and the present counts.
 */
function rowIn(words: string): GuardRow {
  const [kind = '', , calm] = words.split(' ');
  if (kind === 'free') return calmRow('metal');
  return frozenRow(kind as 'silence', calm ? { calmSinceMs: NOW - span(calm) } : {});
}
function countsIn(words: string): Partial<GuardCounts> {
  const of = Number(/of (\d+)/.exec(words)?.[1] ?? 100);
  const counted = [...words.matchAll(/(\d+) ([a-z]\w+)/gi)].filter(([, , what]) => what !== 'of');
  const known = Object.fromEntries(counted.map(([, count, what]) => [what, Number(count)]));
  return { machines: of, started: of, ...known };
}
const afterwards = (before: string, counts: string, pulse = WATCHED) => {
  const { rows } = judge([rowIn(before)], [countsIn(counts)], { pulse });
  return textOf(rows[0]!);
};

/**
 * By the number of machines: the most that may be silent, and unreachable, without a freeze; then
 * the most that may be silent, and unreachable, for the scope to be calm. A8: small fleets are
 * guarded too.
 */
testRows([
  [1, 1, 1, 0, 0],
  [2, 1, 1, 1, 1],
  [3, 1, 1, 1, 1],
  [4, 2, 2, 1, 1],
  [6, 3, 3, 1, 1],
  [8, 4, 4, 1, 1],
  [9, 4, 4, 1, 2],
  [10, 5, 5, 0, 2],
  [11, 5, 5, 1, 2],
  [20, 5, 10, 1, 4],
  [25, 5, 12, 2, 6],
  [29, 5, 14, 2, 7],
  [30, 6, 15, 2, 7],
  [100, 20, 50, 9, 24],
  [100_000, 20_000, 50_000, 9_999, 24_999],
])('S7: of %i machines, allows %i silent and %i unreachable; for calm %i and %i', (of, ...most) => {
  const [silent, unreached, calmSilent, calmUnreached] = most;
  const around = (many: number, told: (count: number) => unknown) => [told(many), told(many + 1)];
  const fallen = (counts: string) => afterwards('free', `${counts} of ${of}`);
  expect(around(silent, (n) => fallen(`${n} newlySilent, ${n} silent`))).toEqual([
    'free',
    'silence',
  ]);
  expect(around(unreached, (n) => fallen(`${n} unreachable, 0 started`))).toEqual([
    'free',
    'probes',
  ]);
  expect(
    around(silent, (quiet) =>
      suspicionRefusal({ scope: 'metal', quiet, started: of }, DEFAULT_GUARD),
    ),
  ).toEqual([
    null,
    `${silent + 1} of ${of} started machines of provider metal are late or silent together`,
  ]);
  const calm = (kind: string, counts: string) => afterwards(kind, `${counts} of ${of}`);
  expect(around(calmSilent, (n) => calm('silence', `${n} silent`))).toEqual([
    'silence calm 0s',
    'silence',
  ]);
  expect(around(calmUnreached, (n) => calm('probes', `${n} unreachable`))).toEqual([
    'probes calm 0s',
    'probes',
  ]);
});

testRows(
  rowsIn(`
    free; 100 silent of 100 → free
    free; 100 quiet of 100 → free
    silence; 0 silent of 0 → silence calm 0s
    silence; 9 silent, 24 unreachable → silence calm 0s
    silence calm 9m59s; 9 silent → silence calm 599s
    silence calm 10m; 9 silent → free
    silence calm 9m; 10 silent → silence
    silence calm 11m; 60 unreachable → silence
    silence; 90 newlySilent, 90 silent → silence
    manual; 0 silent → manual
  `),
)('judges by the counts: %s: %s', (words, told) => {
  const [before = '', counts = ''] = words.split('; ');
  expect(afterwards(before, counts)).toBe(told);
  const row = rowIn(before);
  const { rows, written, changes } = judge([row], [countsIn(counts)]);
  expect(written).toEqual(textOf(row) === textOf(rows[0]!) ? [] : rows);
  const wasFrozen = row.frozen !== null;
  const isFrozen = rows[0]!.frozen !== null;
  const now = isFrozen ? 'frozen' : 'thawed';
  expect(changes).toEqual(wasFrozen === isFrozen ? [] : [{ scope: 'metal', now }]);
});

it('freezes from now on and keeps begin and reason of an existing freeze', () => {
  const { rows, changes } = judged({ newlySilent: 21 });
  const frozen = { atMs: NOW, by: 'guard', kind: 'silence' };
  expect([rows[0], changes]).toMatchObject([{ frozen }, [{ scope: 'metal', now: 'frozen' }]]);
  const row = frozenRow('silence');
  expect(judged({ newlySilent: 90, silent: 90 }, row).rows).toEqual([row]);
});

test('judges each provider separately, and the fleet goes on', () => {
  const { rows, changes } = judge(
    [calmRow(FLEET)],
    [
      { scope: FLEET, started: 1_000, newlySilent: 150 },
      { scope: 'metal', started: 150, newlySilent: 150 },
      { scope: 'static', started: 850 },
    ],
  );
  expect(changes).toEqual([{ scope: 'metal', now: 'frozen' }]);
  expect(rows.map(({ scope, frozen }) => [scope, frozen !== null])).toEqual([
    [FLEET, false],
    ['metal', true],
  ]);
});

test('does not freeze for a dead rack, because locations are no scope', () => {
  const counts = { started: 300, newlySilent: 30, silent: 30 };
  expect(judge([calmRow(FLEET)], [{ scope: FLEET, ...counts }, counts]).changes).toEqual([]);
});

test('A8: counts as calm only without any silent machine, if the policy says so', () => {
  const policy = { ...DEFAULT_GUARD, calmPercent: 0 };
  const few = [{ machines: 2, started: 2, silent: 1 }];
  expect(judge([frozenRow('silence')], few, { policy }).rows[0]!.calmSinceMs).toBeNull();
});

it('does not count calm time that no daemon watched', () => {
  const pulse = { assessedAtMs: NOW - DEFAULT_GUARD.ingestGapMs - 1 };
  expect(afterwards('silence calm 11m', '9 silent', pulse)).toBe('silence calm 0s');
});

test('thaws the freeze of a provider that is gone', () => {
  const row = frozenRow('silence', { calmSinceMs: NOW - 10 * MINUTE });
  const { changes } = judgeGuard([row], [], WATCHED, DEFAULT_GUARD, NOW);
  expect(changes).toEqual([{ scope: 'metal', now: 'thawed' }]);
});

describe('an operator’s freeze and thaw', () => {
  it('lasts as long as ordered', () => {
    const row = frozenByOperator(
      calmRow('metal'),
      { by: 'ann', reason: 'move' },
      { nowMs: NOW, untilMs: null },
    );
    const frozen = { atMs: NOW, by: 'ann', kind: 'manual', reason: 'move', untilMs: null };
    expect(row).toEqual({ ...calmRow('metal'), frozen });
    const later = judge([row], [{}], { nowMs: NOW + 86_400_000 });
    expect([later.rows, later.written, later.changes]).toEqual([[row], [], []]);
  });

  it('takes over a freeze, which then does not end by itself', () => {
    const before = frozenRow('silence', { calmSinceMs: NOW - 11 * MINUTE });
    const row = frozenByOperator(
      before,
      { by: 'ann', reason: 'move' },
      { nowMs: NOW, untilMs: null },
    );
    expect(row.frozen).toEqual({ ...before.frozen, by: 'ann', kind: 'manual', reason: 'move' });
    expect(judged({}, row).changes).toEqual([]);
  });

  const untilMs = NOW + 120 * MINUTE;
  const timed = frozenByOperator(
    calmRow('metal'),
    { by: 'ann', reason: 'move' },
    { nowMs: NOW, untilMs },
  );

  it.each([
    ['stays one before its end', -1, {}, timed, []],
    ['ends at its end', 0, {}, calmRow('metal'), [{ scope: 'metal', now: 'ended' }]],
    ['does not thaw machines that were seen by nobody', 0, { silent: 60 }, calmRow('metal'), ['x']],
  ] as const)('freezes until an end: such a freeze %s', (_, laterMs, counts, row, changes) => {
    const { rows, changes: found } = judge([timed], [counts], { nowMs: untilMs + laterMs });
    expect(rows).toEqual([row]);
    expect(found).toHaveLength(changes.length);
    if (laterMs === 0) expect(found).toEqual([{ scope: 'metal', now: 'ended' }]);
  });

  it('freezes until an end, and the guard goes on with a freeze of its own when many fell silent', () => {
    const { rows, changes } = judge([timed], [{ silent: 21, newlySilent: 21 }], { nowMs: untilMs });
    expect(rows[0]).toMatchObject({
      frozen: { kind: 'silence', by: 'guard', atMs: untilMs, untilMs: null },
      thawedAtMs: null,
    });
    expect(changes).toEqual([{ scope: 'metal', now: 'frozen' }]);
  });

  it('thaws until other machines fall silent', () => {
    const row = thawedByOperator(frozenRow('manual'), NOW);
    expect(row).toEqual({ ...calmRow('metal'), thawedAtMs: NOW });
    // Machines that the operator has seen no longer count as new.
    expect(judged({ silent: 60, newlySilent: 0 }, row).changes).toEqual([]);
    expect(judged({ silent: 81, newlySilent: 21 }, row).rows[0]).toMatchObject({
      frozen: { kind: 'silence' },
      thawedAtMs: NOW,
    });
  });
});

it('writes a judgement once', () => {
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

describe('a judgement after the clock went back by an hour', () => {
  const ahead = NOW + 60 * MINUTE;

  it('dates a thaw at now, so that newly silent machines are seen', () => {
    const { rows, written, changes } = judged({}, { ...calmRow('metal'), thawedAtMs: ahead });
    expect(rows).toEqual([{ ...calmRow('metal'), thawedAtMs: NOW }]);
    expect([written, changes]).toEqual([rows, []]);
  });

  it('dates freeze and calm at now, whoever froze it', () => {
    const frozen = { atMs: ahead, by: 'ann', kind: 'manual', reason: 'x', untilMs: null } as const;
    const manual = judged({}, { ...calmRow('metal'), frozen });
    expect(manual.rows[0]!.frozen).toEqual({ ...frozen, atMs: NOW });
    const row = frozenRow('silence', { calmSinceMs: ahead });
    expect(judged({ silent: 9 }, row).rows[0]!.calmSinceMs).toBe(NOW);
  });

  it('counts as not watched', () => {
    const row = frozenRow('silence', { calmSinceMs: NOW - 60 * MINUTE });
    const { rows } = judge([row], [{ silent: 9 }], { pulse: { assessedAtMs: ahead } });
    expect(rows[0]).toEqual({ ...row, calmSinceMs: NOW });
  });
});

const LIMITS = { gapMs: MINUTE, heartbeatMs: 10 * MINUTE };
const UP: Ingest = { seenAtMs: NOW - 5_000, upSinceMs: NOW - 3_600_000, lostAtMs: null };

describe('S6: the acceptance of heartbeats', () => {
  const NEVER: Ingest = { seenAtMs: null, upSinceMs: null, lostAtMs: null };
  const mark = (before: Ingest, up: boolean, nowMs = NOW) =>
    markIngest(before, { up, nowMs }, LIMITS);

  it('starts with the first daemon that accepts some', () => {
    expect(mark(NEVER, false)).toEqual(NEVER);
    expect(mark(NEVER, true)).toEqual({ seenAtMs: NOW, upSinceMs: NOW, lostAtMs: null });
  });

  it('continues while any daemon accepts some', () => {
    expect(mark(UP, false)).toEqual(UP);
    expect(mark(UP, true)).toEqual({ ...UP, seenAtMs: NOW });
  });

  it.each([
    ['60 s', MINUTE, false],
    ['more than 60 s', MINUTE + 1, true],
  ])('is, after a gap of %s, interrupted %s', (_, gapMs, isBroken) => {
    const seenAtMs = NOW - gapMs;
    const after = mark({ ...UP, seenAtMs }, true);
    expect(after.upSinceMs).toBe(isBroken ? NOW : UP.upSinceMs);
    expect(after.lostAtMs).toBe(isBroken ? seenAtMs : null);
  });

  it('is declared interrupted by a daemon that only looks', () => {
    const seenAtMs = NOW - 2 * MINUTE;
    const down = mark({ ...UP, seenAtMs }, false);
    expect(down).toEqual({ seenAtMs, upSinceMs: null, lostAtMs: seenAtMs });
    expect(mark(down, true)).toEqual({ seenAtMs: NOW, upSinceMs: NOW, lostAtMs: seenAtMs });
  });

  it('joins interruptions between which no machine could be found lost', () => {
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

  it('treats times ahead as now, because the clock went back', () => {
    const backMs = NOW - 2 * 3_600_000;
    const known = { ...UP, lostAtMs: NOW - 90 * MINUTE };
    const marked = { seenAtMs: backMs, upSinceMs: backMs, lostAtMs: backMs };
    expect(mark(known, true, backMs)).toEqual(marked);
    expect(mark(known, false, backMs)).toEqual(marked);
    expect(graceRefusal(marked, backMs, LIMITS)).toContain('600 s');
    // It is interrupted again when no daemon accepts any.
    expect(mark(marked, false, backMs + 2 * MINUTE).upSinceMs).toBeNull();
  });

  testRows([
    [null, false],
    [NOW, true],
    [NOW - 4_999, true],
    [NOW - 5_000, false],
    [NOW + 4_999, true],
    [NOW + 5_000, false],
  ])('treats a look at %s as recent: %s', (atMs, isLately) => {
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
  ] as const)('gives a grace time by the known acceptance: %s: %s', (_, ingest, isGrace) => {
    expect(graceRefusal(ingest, NOW, LIMITS) !== null).toBe(isGrace);
  });

  it('says how long the grace time lasts', () => {
    const upSinceMs = NOW - 9 * MINUTE;
    expect(graceRefusal({ ...UP, upSinceMs }, NOW, LIMITS)).toContain('60 s');
    expect(graceEndsAtMs({ upSinceMs }, LIMITS)).toBe(NOW + MINUTE);
    expect(graceEndsAtMs({ upSinceMs: null }, LIMITS)).toBeNull();
  });
});

describe('A8: limits beyond `silentMin` and the percentage', () => {
  const policies = fc.record({
    silentMin: fc.integer({ min: 1, max: 1_000_000 }),
    silentPercent: fc.integer({ min: 0, max: 50 }),
    unreachablePercent: fc.integer({ min: 0, max: 50 }),
  });
  const isFrozen = (change: Partial<GuardCounts>, policy: object) =>
    judge([calmRow('metal')], [change], { policy: { ...DEFAULT_GUARD, ...policy } }).rows.some(
      ({ frozen }) => frozen !== null,
    );
  const most = fc
    .integer({ min: 2, max: 200 })
    .chain((started) =>
      fc.tuple(
        fc.constant(started),
        fc.integer({ min: Math.max(2, Math.floor(started / 2) + 1), max: started }),
      ),
    );

  it('freeze a scope when more than half of it, and at least two, are silent', () => {
    fc.assert(
      fc.property(policies, most, (policy, [machines, gone]) => {
        expect(isFrozen({ machines, started: machines, newlySilent: gone }, policy)).toBe(true);
        expect(isFrozen({ machines, started: 0, unreachable: gone }, policy)).toBe(true);
        const quiet = { scope: 'metal', started: machines, quiet: gone };
        expect(suspicionRefusal(quiet, { ...DEFAULT_GUARD, ...policy })).not.toBeNull();
      }),
    );
  });

  it('are off at 100 percent, and by default one machine freezes nothing', () => {
    const all = { silentPercent: 100, unreachablePercent: 100 };
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 200 }), (policy, machines) => {
        const gone = { machines, started: machines, newlySilent: machines, unreachable: machines };
        expect(isFrozen(gone, { ...policy, ...all })).toBe(false);
        expect(isFrozen({ machines, started: machines, newlySilent: 1 }, DEFAULT_GUARD)).toBe(
          false,
        );
      }),
    );
  });
});

test('name the frozen scope and the reason', () => {
  expect(freezeRefusal(calmRow('metal'))).toBeNull();
  expect(freezeRefusal(frozenRow('manual'))).toBe('provider metal is frozen: x');
  expect(freezeRefusal({ ...frozenRow('manual'), scope: FLEET })).toBe('the fleet is frozen: x');
});
