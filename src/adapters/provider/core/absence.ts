import { explain, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Listing } from '../port.ts';

/**
 * A driver's `not-found` alone proves nothing: what stands between us and the vendor says the same
 * for reasons of its own. A machine is gone when a complete listing does not show it either.
 */
export interface Absence {
  /** A listing is evidence for a while, whoever asked for it. */
  saw(listing: Listing): void;
  /** Something was made that earlier listings could not show. */
  forget(): void;
  /**
   * Resolves when a listing agrees that there is no such machine. One that takes longer than the
   * caller has goes on, so that it answers the next caller.
   * @throws {ProviderError} `transient`: it does not, or does not tell.
   */
  confirm(id: string, said: unknown, signal: AbortSignal): Promise<void>;
}

/** A listing that ended less than this ago is evidence of absence. */
const FRESH_MS = 60_000;
/** One that speaks against it is asked for again after this. */
const AGAIN_MS = 10_000;

export function createAbsence(deps: {
  readonly clock: Clock;
  /** A listing that does not end because its caller left. */
  list(): Promise<Listing>;
}): Absence {
  const { clock } = deps;
  let latest: { readonly listing: Listing; readonly seenMs: number } | null = null;

  const ageMs = () => (latest === null ? Infinity : clock.monotonic() - latest.seenMs);
  const unproved = (id: string, why: string, cause: unknown) =>
    new ProviderError(
      'transient',
      `machine ${id} was said not to exist, and ${why}; a proxy may have answered for the provider`,
      { cause },
    );

  return {
    saw: (listing) => void (latest = { listing, seenMs: clock.monotonic() }),
    forget: () => void (latest = null),
    async confirm(id, said, signal) {
      const known = latest !== null && ageMs() < FRESH_MS ? doubtOf(latest.listing, id) : UNKNOWN;
      if (known === null) return;
      if (ageMs() < AGAIN_MS) throw unproved(id, known, said);
      const doubt = await within(deps.list(), signal).then(
        (listing) => doubtOf(listing, id),
        (error: unknown) => {
          throw unproved(id, `no listing confirms it (${explain(error)})`, error);
        },
      );
      if (doubt !== null) throw unproved(id, doubt, said);
    },
  };
}

const UNKNOWN = 'no listing was seen';

/** Why a listing does not prove that a machine is gone; null: it does. */
function doubtOf({ machines, complete, unreadable = [] }: Listing, id: string): string | null {
  const shown = machines.find((machine) => machine.id === id);
  // The provider itself says that it is on its way out.
  if (shown) return shown.status === 'Missing' ? null : 'the listing shows it';
  if (unreadable.some((entry) => entry.id === id)) return 'the listing has it, unreadable';
  return complete ? null : 'the listing is incomplete';
}

/** The answer, unless nobody waits for it any more. */
function within<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(new Error('it did not come in time'));
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
