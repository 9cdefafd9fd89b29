import fc from 'fast-check';
import type { BackoffDescriptor } from '../../../../src/domain/backoff.ts';
import { machineId, providerName } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { LossPolicy, RecoveryBudget } from '../../../../src/domain/policy.ts';

/*
 * Time passes only in multiples of 8 s, and limits are 4 s away from such multiples. So no answer
 * depends on the order of two nearly equal moments.
 */
export const SECOND = 1_000;
export const STEPS_S = [8, 16, 64, 104, 304, 608, 1_808, 3_608] as const;
/**
 * Longer than the day for which ended holds of providers are kept, and shorter than a session's
 * life.
 */
export const LONG_S = 90_000;
export const INTERVALS_S = [12, 60, 100_004] as const;
export const PENALTY_MS = 3_603 * SECOND;
export const LOSS: LossPolicy = {
  heartbeatMs: 604 * SECOND,
  firstHeartbeatMs: 1_804 * SECOND,
  needsHumanAfterMs: 3_604 * SECOND,
  handOutMs: 1_804 * SECOND,
  periodMs: 30 * SECOND,
  ladderResetMs: 300 * SECOND,
  escalation: { failuresMax: 3, attemptAgeMs: 1_804 * SECOND },
};
/** Few machines are enough to exhaust it. */
export const BUDGET: RecoveryBudget = { percent: 60, perGroupMax: 2, fleetMax: 3 };
export const DESCRIPTORS: readonly BackoffDescriptor[] = [
  { initialMs: 60 * SECOND, exponent: 1, maximumMs: 0 },
  { initialMs: 12 * SECOND, exponent: 3, maximumMs: 324 * SECOND },
  { initialMs: 12 * SECOND, exponent: 3, maximumMs: 36 * SECOND },
];

export const SESSIONS = 3;
export const MACHINES = 6;
export const SLOTS = 4;
export const JOBS = 2;
export const PROVIDERS = ['metal', 'static'].map(providerName);

export const idOf = (at: number): MachineId =>
  machineId(`00000000-0000-4000-8000-00000000000${at}`);

/** Makes counterexamples readable. */
export const plain = <T>(parts: { [Part in keyof T]: fc.Arbitrary<T[Part]> }): fc.Arbitrary<T> =>
  fc.record<T>(parts, { noNullPrototype: true });
export const below = (count: number) => fc.nat(count - 1);
export const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
export const seldom = <T>(usual: T, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary });
export const several = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) =>
  fc.array(arbitrary, { minLength: 1, maxLength });
export const session = below(SESSIONS);
export const machine = below(MACHINES);
export const location = fc.constantFrom(null, 'ny', 'la');
/** The type that an arbitrary generates. */
export type GeneratedBy<A> = A extends fc.Arbitrary<infer T> ? T : never;
