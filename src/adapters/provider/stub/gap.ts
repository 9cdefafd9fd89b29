import type { Faults, Occasion } from './faults.ts';
import { comeBackIn, type RefusalDeps } from './refusals.ts';

/**
 * Counts from the last call that was let through, whichever instance made it.
 * @throws {ProviderError} `transient` with a retry time: too soon after the one before.
 */
export type Gap = (occasion: Occasion, refusal: RefusalDeps) => void;

/** The least time between two calls of a kind, as far as a fault demands one. */
export function createGap(
  fault: 'create-gap' | 'list-gap',
  { faults, nowMs }: { readonly faults: Faults; nowMs(): number },
): Gap {
  let lastAtMs = -Infinity;
  return (occasion, refusal) => {
    const gap = faults.look(occasion, fault);
    const waitMs = lastAtMs + (gap?.amount ?? 0) - nowMs();
    if (gap && waitMs > 0) {
      gap.use();
      throw comeBackIn(waitMs, refusal);
    }
    lastAtMs = nowMs();
  };
}
