import { ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { FleetCall } from '../port.ts';

/** What the caller wants checked just before a request that changes something is sent. */
export interface Sending {
  /** See `CallOptions.beforeSending`. */
  beforeSending(): Promise<void>;
  /** What a call that failed with this is rejected with. */
  reasonOf(error: unknown): unknown;
}

export function createSending({ beforeSending }: FleetCall): Sending {
  let refused: { readonly cause: unknown } | null = null;
  return {
    async beforeSending() {
      try {
        await beforeSending?.();
      } catch (cause) {
        refused = { cause };
        throw new ProviderError('aborted', 'called off before it was sent', { cause });
      }
    },
    // An earlier request of the same call may have been carried out: then that is what counts.
    reasonOf: (error) =>
      refused && facetsOf(error).outcome === 'not-done' ? refused.cause : error,
  };
}
