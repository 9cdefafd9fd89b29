import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noCounts, rulesOf, type GuardRule } from '../../../src/domain/recovery/guard-rules.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  judgeGuard,
  suspicionRefusal,
  type GuardCounts,
} from '../../../src/domain/recovery/guard-judgement.ts';

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

test('so many more machines stop a scope, and one fewer does not; or all of them do not', () => {
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

test('the nearest rule comes first', () => {
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
