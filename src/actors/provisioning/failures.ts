import { providerOf, type Slot } from '../../domain/ids.ts';

/**
 * Slots whose last creation failed. One that always fails must not be tried first each time, and it
 * must be noticed.
 */
export interface Failures {
  /** @param at its rank among all failures and starts. */
  failed(slot: Slot, when: { readonly at: number; readonly nowMs: number }): void;
  /** @param begunAt rank of the start of the creation that succeeded. */
  succeeded(slot: Slot, begunAt: number): void;
  /** It failed lately, and another of its provider was begun since then and succeeded. */
  isSuspect(slot: Slot, nowMs: number): boolean;
  /** The later the failure, the higher the rank. */
  order(): ReadonlyMap<Slot, number>;
}

interface Failure {
  readonly at: number;
  readonly nowMs: number;
  readonly othersSucceeded: boolean;
}

/** Beyond this the oldest is forgotten. */
const REMEMBERED_MAX = 1_000;

/** @param memoryMs a failure longer ago says nothing against its slot any more. */
export function createFailures(memoryMs: number): Failures {
  const known = new Map<Slot, Failure>();
  return {
    failed(slot, { at, nowMs }) {
      known.delete(slot);
      known.set(slot, { at, nowMs, othersSucceeded: false });
      if (known.size > REMEMBERED_MAX) known.delete(known.keys().next().value!);
    },
    succeeded(slot, begunAt) {
      known.delete(slot);
      for (const [other, failure] of known) {
        if (providerOf(other) !== providerOf(slot) || failure.at > begunAt) continue;
        known.set(other, { ...failure, othersSucceeded: true });
      }
    },
    isSuspect(slot, nowMs) {
      const failure = known.get(slot);
      return failure !== undefined && failure.othersSucceeded && nowMs - failure.nowMs < memoryMs;
    },
    order: () => new Map([...known].map(([slot, { at }]) => [slot, at])),
  };
}
