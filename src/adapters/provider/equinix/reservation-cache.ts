import type { Clock } from '../../clock/port.ts';
import { classify, type ReservationClass } from './mapping.ts';
import type { Unread, Walked } from '../../http/pages.ts';
import type { Reservation } from './client/schema.ts';

/**
 * The available reservations. Listing them is slow, so the list is kept for a while; whoever uses
 * one, or finds it used, evicts it.
 */
export interface ReservationCache {
  /** Rereads when the kept list is too old or was incomplete. */
  available(signal: AbortSignal): Promise<Walked<Reservation>>;
  evict(reservationId: string): void;
  /** Something contradicts the kept list: the next `available` rereads. */
  expire(): void;
}

export type ReservationCounts = Readonly<Record<ReservationClass, number>>;

export function createReservationCache(
  options: { readonly timeoutMs: number },
  deps: {
    readonly clock: Clock;
    readonly list: (signal: AbortSignal) => Promise<Walked<Reservation>>;
    readonly onRefresh: (counts: ReservationCounts) => void;
  },
): ReservationCache {
  const { clock } = deps;
  /** When each one left, so that a listing begun earlier does not bring it back. */
  const evictedAtMs = new Map<string, number>();
  let kept = new Map<string, Reservation>();
  let keptUnread: readonly Unread[] = [];
  let freshUntilMs = 0;
  let expiredAtMs = -1;
  /** When the listing that is kept was begun. */
  let keptSinceMs = -1;

  async function refresh(signal: AbortSignal): Promise<Walked<Reservation>> {
    const startedMs = clock.monotonic();
    const { items, unread, complete } = await deps.list(signal);
    // A younger one ended first, and what had left before it is forgotten.
    if (startedMs < keptSinceMs) return whatIsKept();
    const counts = { inUse: 0, notProvisionable: 0, available: 0 };
    const found = new Map<string, Reservation>();
    for (const item of items) {
      const of = classify(item, clock.now());
      counts[of]++;
      const left = (evictedAtMs.get(item.id) ?? -1) >= startedMs;
      if (of === 'available' && !left) found.set(item.id, item);
    }
    deps.onRefresh(counts);
    if (complete) {
      kept = found;
      keptUnread = unread;
      keptSinceMs = startedMs;
      freshUntilMs = expiredAtMs >= startedMs ? 0 : startedMs + options.timeoutMs;
      for (const [id, atMs] of evictedAtMs) if (atMs < startedMs) evictedAtMs.delete(id);
    }
    return { items: [...found.values()], unread, complete };
  }
  const whatIsKept = (): Walked<Reservation> => ({
    items: [...kept.values()],
    unread: keptUnread,
    complete: true,
  });

  return {
    async available(signal) {
      if (clock.monotonic() >= freshUntilMs) return refresh(signal);
      return whatIsKept();
    },
    evict(reservationId) {
      evictedAtMs.set(reservationId, clock.monotonic());
      kept.delete(reservationId);
    },
    expire() {
      expiredAtMs = clock.monotonic();
      freshUntilMs = 0;
    },
  };
}
