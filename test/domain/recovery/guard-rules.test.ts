import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GuardRow } from '../../../src/domain/machine.ts';
import {
  guardEnd,
  noCounts,
  rulesOf,
  type GuardRule,
} from '../../../src/domain/recovery/guard-rules.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  FLEET,
  judgeGuard,
  suspicionRefusal,
  type GuardCounts,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { NOW_MS } from '../../support/facts.ts';

const NOW = 1_700_000_000_000;
const COUNTED = { silence: 'newlySilent', probes: 'unreachable', suspicion: 'quiet' } as const;
const OF = { silence: 'started', probes: 'machines', suspicion: 'started' } as const;

/** Whether the guard itself stops the scope by this rule. */
function isStopped(rule: GuardRule, counts: GuardCounts, policy = DEFAULT_GUARD): boolean {
  if (rule === 'suspicion') return suspicionRefusal(counts, policy) !== null;
  const alone = { ...noCounts(counts.scope), machines: counts.machines, started: counts.started };
  const counted = { ...alone, [COUNTED[rule]]: counts[COUNTED[rule]] };
  const pulse = { assessedAtMs: NOW - 5_000 };
  return judgeGuard([calmRow('metal')], [counted], pulse, policy, NOW).rows[0]!.frozen !== null;
}

const fleets = fc
  .integer({ min: 0, max: 400 })
  .chain((machines) =>
    fc
      .integer({ min: 0, max: machines })
      .chain((started) =>
        fc.record({
          scope: fc.constant('metal'),
          ...{ machines: fc.constant(machines), started: fc.constant(started) },
          silent: fc.constant(0),
          newlySilent: fc.integer({ min: 0, max: started }),
          quiet: fc.integer({ min: 0, max: started }),
          unreachable: fc.integer({ min: 0, max: machines }),
        }),
      ),
  );
const policies = fc.record({
  silentMin: fc.integer({ min: 1, max: 50 }),
  silentPercent: fc.integer({ min: 0, max: 100 }),
  unreachablePercent: fc.integer({ min: 0, max: 100 }),
});

test('states the exact number of further machines that stops a scope', () => {
  fc.assert(
    fc.property(fleets, policies, (counts, figures) => {
      const policy = { ...DEFAULT_GUARD, ...figures };
      for (const { rule, count, of, more } of rulesOf(counts, policy)) {
        const at = (number: number) =>
          isStopped(rule, { ...counts, [COUNTED[rule]]: number }, policy);
        expect([count, of]).toEqual([counts[COUNTED[rule]], counts[OF[rule]]]);
        if (more === null) expect(at(of)).toBe(false);
        else expect([at(count + more), more > 0 && at(count + more - 1)]).toEqual([true, false]);
      }
    }),
  );
});

test('puts the nearest rule first', () => {
  const counts = { ...noCounts('metal'), machines: 100, started: 100 };
  const nearest = (change: Partial<GuardCounts>) =>
    rulesOf({ ...counts, ...change }, DEFAULT_GUARD).map(({ rule, more }) => [rule, more]);
  expect(nearest({})[0]).toEqual(['silence', 21]);
  expect(nearest({ unreachable: 45 })[0]).toEqual(['probes', 6]);
  expect(nearest({ quiet: 30, newlySilent: 19 })).toEqual([
    ['suspicion', 0],
    ['silence', 2],
    ['probes', 51],
  ]);
  expect(nearest({ machines: 1, started: 1 }).map(([, more]) => more)).toEqual([null, null, null]);
});

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, policy: DEFAULT_GUARD, heartbeatMs: 10 * MINUTE };
const frozenAs = (kind: 'manual' | 'silence' | 'probes', change: Partial<GuardRow> = {}) => ({
  ...calmRow(FLEET),
  frozen: { atMs: NOW_MS - MINUTE, by: 'ann', kind, reason: 'because', untilMs: null },
  ...change,
});
const counts = (change: Partial<GuardCounts>) => ({ ...noCounts(FLEET), machines: 12, ...change });
const endOf = (row: GuardRow, change: Partial<GuardCounts> = {}) =>
  guardEnd({ scope: FLEET, state: 'frozen' }, { rows: [row], counts: [counts(change)] }, moment);

describe('the end of a freeze', () => {
  test('does not come by itself while too many are silent, and names the limit', () => {
    const end = endOf(frozenAs('silence'), { started: 12, silent: 10 });
    expect(end?.atMs).toBeNull();
    expect(end?.text).toContain(
      'cannot end by itself while 10 of 12 started machines are silent and at most 1 may be',
    );
    expect(end?.text).toContain('shepherd fleet thaw');
  });

  test('waits until machines are reachable again, if that caused it', () => {
    const end = endOf(frozenAs('probes'), { unreachable: 7 });
    expect(end?.text).toContain('while 7 of 12 machines cannot be reached and at most 2 may be');
    expect(endOf(frozenAs('probes'), { unreachable: 2 })?.text).toContain('by itself if');
  });

  test('comes at a time when the scope is calm', () => {
    const calm = frozenAs('silence', { calmSinceMs: NOW_MS - 3 * MINUTE });
    expect(endOf(calm, { started: 12, silent: 1 })).toEqual({
      text: 'It ends by itself if no more machines fall silent.',
      atMs: NOW_MS + 7 * MINUTE,
    });
  });

  test('is left to a person when a person froze it', () => {
    const end = endOf(frozenAs('manual', { calmSinceMs: NOW_MS }), { started: 12 });
    expect(end).toEqual({ text: 'Only a person ends it: shepherd fleet thaw.', atMs: null });
  });
});

test('the end of a freeze that a person gave an end comes by the clock', () => {
  const untilMs = NOW_MS + 80 * MINUTE;
  const frozen = { ...frozenAs('manual').frozen!, untilMs };
  expect(endOf(frozenAs('manual', { frozen }), { started: 12, silent: 10 })).toEqual({
    text: 'It ends by itself; a person ends it before: shepherd fleet thaw.',
    atMs: untilMs,
  });
});

describe('the end of another state', () => {
  const end = (state: 'watching' | 'grace' | 'suspicious' | 'blind', row = calmRow(FLEET)) =>
    guardEnd({ scope: FLEET, state }, { rows: [row], counts: [] }, moment);

  test('comes at a time during the grace time if heartbeats are accepted', () => {
    const up = { ...calmRow(FLEET), ingestUpSinceMs: NOW_MS - MINUTE };
    expect(end('grace', up)).toMatchObject({ atMs: NOW_MS + 9 * MINUTE });
    expect(end('grace')).toMatchObject({ atMs: null });
  });

  test('is given for every state except normal recovery', () => {
    expect(end('watching')).toBeNull();
    expect(end('suspicious')?.text).toContain('by itself');
    expect(end('blind')?.text).toContain('daemon');
  });
});
