import { explain, ProviderError } from '../../../domain/errors.ts';
import { unlessAborted } from '../../../domain/joined.ts';
import type { Clock } from '../../clock/port.ts';
import type { Listing } from '../port.ts';

/**
 * A driver's `not-found` alone proves nothing: what stands between us and the vendor says the same
 * for reasons of its own. A machine is gone when a complete listing does not show it either.
 */
export interface Absence {
  /**
   * A listing begins; to be called with it when it has ended. It is evidence for a while, whoever
   * asked for it, unless something was made meanwhile.
   */
  watch(): (listing: Listing) => void;
  /** Something was made that earlier listings could not show. */
  forget(): void;
  /**
   * Resolves when a listing agrees that there is no such machine: a complete one, or one that shows
   * the reservation that it had as free. One that takes longer than the caller has goes on, so that
   * it answers the next caller.
   * @throws {ProviderError} `transient`: it does not, or does not tell.
   */
  confirm(gone: Gone, said: unknown, signal: AbortSignal): Promise<void>;
}

/** A machine that is said not to exist. */
export interface Gone {
  readonly id: string;
  /** Under it when it was seen last; absent or null: none, or not known. */
  readonly reservationId?: string | null | undefined;
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
  let creations = 0;
  let latest: { readonly listing: Listing; readonly seenMs: number } | null = null;

  const ageMs = () => (latest === null ? Infinity : clock.monotonic() - latest.seenMs);
  const unproved = (id: string, why: string, cause: unknown) =>
    new ProviderError(
      'transient',
      `machine ${id} was said not to exist, and ${why}; a proxy may have answered for the provider`,
      { cause },
    );

  return {
    watch() {
      const before = creations;
      return (listing) => {
        if (creations === before) latest = { listing, seenMs: clock.monotonic() };
      };
    },
    forget() {
      creations += 1;
      latest = null;
    },
    async confirm(gone, said, signal) {
      const { id } = gone;
      const isFresh = latest !== null && ageMs() < FRESH_MS;
      const known = isFresh ? doubtOf(latest!.listing, gone) : UNKNOWN;
      if (known === null) return;
      if (ageMs() < AGAIN_MS) throw unproved(id, known, said);
      const doubt = await unlessAborted(deps.list(), signal).then(
        (listing) => doubtOf(listing, gone),
        (error: unknown) => {
          const why = signal.aborted ? 'it did not come in time' : explain(error);
          throw unproved(id, `no listing confirms it (${why})`, error);
        },
      );
      if (doubt !== null) throw unproved(id, doubt, said);
    },
  };
}

const UNKNOWN = 'no listing was seen';

/** Why a listing does not prove that a machine is gone; null: it does. */
function doubtOf(
  { machines, complete, unreadable = [] }: Listing,
  { id, reservationId = null }: Gone,
): string | null {
  const shown = machines.find((machine) => machine.id === id);
  // The provider itself says that it is on its way out.
  if (shown) return shown.status === 'Missing' ? null : 'the listing shows it';
  if (unreadable.some((entry) => entry.id === id)) return 'the listing has it, unreadable';
  const isLeft = machines.some(
    (each) => each.availability === 'KnownUnused' && each.reservationId === reservationId,
  );
  return complete || (isLeft && reservationId !== null) ? null : 'the listing is incomplete';
}
