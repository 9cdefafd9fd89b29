import { ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { CallOptions, FleetCall } from '../port.ts';

/** What has to be so just before a request that changes something is sent. */
export interface Sending extends Required<Pick<CallOptions, 'beforeSending' | 'requireOurs'>> {
  /** Whether somebody looked whose the machine is, if that has to be. */
  isLookedAt(): boolean;
  /** What a call that failed with this is rejected with. */
  reasonOf(error: unknown): unknown;
}

/** @param terms when they check whose the machine is, nothing is sent before that has passed. */
export function createSending(
  { beforeSending }: FleetCall,
  terms: Partial<Pick<CallOptions, 'requireOurs'>>,
): Sending {
  let refused: { readonly cause: unknown } | null = null;
  let isOurs = terms.requireOurs === undefined;
  return {
    requireOurs(machine) {
      terms.requireOurs?.(machine);
      isOurs = true;
    },
    isLookedAt: () => isOurs,
    async beforeSending() {
      if (!isOurs) throw new ProviderError('permanent', 'nobody looked whose the machine is');
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
