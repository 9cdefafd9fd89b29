import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  calmRow,
  DEFAULT_GUARD,
  judgeGuard,
  silentLimit,
  suspicionRefusal,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import type { GuardCounts } from '../../../src/domain/recovery/guard-judgement.ts';

const NOW = 1_700_000_000_000;
const NONE = noCounts('metal');

describe('A8: whatever `silentMin` and the percentage of a policy say', () => {
  const policies = fc.record({
    silentMin: fc.integer({ min: 1, max: 1_000_000 }),
    silentPercent: fc.integer({ min: 0, max: 50 }),
    unreachablePercent: fc.integer({ min: 0, max: 50 }),
  });
  const isFrozen = (change: Partial<GuardCounts>, policy: object) =>
    judgeGuard(
      [calmRow('metal')],
      [{ ...NONE, ...change }],
      { assessedAtMs: NOW - 5_000 },
      { ...DEFAULT_GUARD, ...policy },
      NOW,
    ).rows.some(({ frozen }) => frozen !== null);
  const most = fc
    .integer({ min: 2, max: 200 })
    .chain((started) =>
      fc.tuple(
        fc.constant(started),
        fc.integer({ min: Math.max(2, Math.floor(started / 2) + 1), max: started }),
      ),
    );

  it('more than half of a scope, and at least two, freeze it', () => {
    fc.assert(
      fc.property(policies, most, (policy, [machines, gone]) => {
        expect(isFrozen({ machines, started: machines, newlySilent: gone }, policy)).toBe(true);
        expect(isFrozen({ machines, started: 0, unreachable: gone }, policy)).toBe(true);
        const quiet = { scope: 'metal', started: machines, quiet: gone };
        expect(suspicionRefusal(quiet, { ...DEFAULT_GUARD, ...policy })).not.toBeNull();
      }),
    );
  });

  it('a percentage of 100 switches it off; one machine alone freezes nothing by default', () => {
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

  it('from ten machines on the default limits are what they were', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 100_000 }), (started) => {
        expect(silentLimit(DEFAULT_GUARD, started)).toBe(Math.max(5, started / 5));
      }),
    );
  });
});
