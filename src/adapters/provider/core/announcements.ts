import { ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { AttemptProgress, FleetCreateRequest } from '../port.ts';

/** What a driver says before its requests of one creation, and whether it heeds the answers. */
export interface Announcements {
  onAttempt(progress: AttemptProgress): Promise<void>;
  /** How a driver that is done went on without leave; null: it did not. */
  unheeded(): { readonly what: string; readonly cause?: unknown } | null;
  /** What a creation that failed with this is rejected with. */
  reasonOf(error: unknown): unknown;
}

export function createAnnouncements({
  onAttempt,
}: Pick<FleetCreateRequest, 'onAttempt'>): Announcements {
  let refused: { readonly cause: unknown } | null = null;
  let open = 0;

  async function announce(progress: AttemptProgress): Promise<void> {
    open += 1;
    try {
      await onAttempt?.(progress);
    } catch (cause) {
      refused = { cause };
      throw cause;
    } finally {
      open -= 1;
    }
  }

  return {
    onAttempt(progress) {
      const announced = announce(progress);
      // A driver that does not wait does not catch either.
      announced.catch(() => undefined);
      return announced;
    },
    unheeded() {
      if (refused) return { what: 'an announcement had failed', cause: refused.cause };
      return open > 0 ? { what: 'did not wait for its announcement' } : null;
    },
    reasonOf(error) {
      if (!refused) return error;
      const { cause } = refused;
      if (stems(error, cause) || facetsOf(error).outcome === 'not-done') return cause;
      return error instanceof ProviderError && error.outcome === 'unknown'
        ? error
        : new ProviderError('permanent', 'the driver went on after an announcement had failed', {
            cause: error,
            outcome: 'unknown',
          });
    },
  };
}

/** Whether it is this, or was caused by it. */
function stems(error: unknown, from: unknown): boolean {
  for (let at = error, depth = 0; depth < 16; depth++) {
    if (at === from) return true;
    if (!(at instanceof Error)) return false;
    at = at.cause;
  }
  return false;
}
