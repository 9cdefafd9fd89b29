import type { UnreadableEntry } from '../../../domain/machine.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { Unread, Walked } from '../../driver-kit/pages.ts';
import { createNews, type Log } from '../../log/port.ts';
import type { MetricsOf } from '../../metrics/port.ts';
import type { DriverListing } from '../port.ts';
import { idOf, type Reservation } from './api.ts';
import type { EquinixClient } from './client.ts';
import {
  classify,
  toFreeCapacity,
  isManaged,
  type ReservationClass,
  type DeviceView,
} from './device-view.ts';
import type { EquinixConfig } from './settings.ts';

export type ReservationCounts = Readonly<Record<ReservationClass, number>>;

/**
 * Caches the available reservations, because listing them is slow. A caller that uses a
 * reservation, or finds it used, evicts it.
 */
export function createReservationCache(
  options: { readonly timeoutMs: number },
  deps: {
    readonly clock: Clock;
    readonly list: (call: Call) => Promise<Walked<Reservation>>;
    readonly onRefresh: (counts: ReservationCounts) => void;
  },
) {
  const { clock } = deps;
  /** Time of each eviction, so that an older listing does not bring the reservation back. */
  const evictedAtMs = new Map<string, number>();
  let kept = new Map<string, Reservation>();
  let keptUnread: readonly Unread[] = [];
  let freshUntilMs = 0;
  let expiredAtMs = -1;
  /** Start of the cached listing. */
  let keptSinceMs = -1;

  async function refresh(call: Call): Promise<Walked<Reservation>> {
    const startedMs = clock.monotonic();
    const { items, unread, complete } = await deps.list(call);
    // A younger listing ended first, and evictions before it are already forgotten.
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
    /** Reads again if the cache is too old or was incomplete. */
    async available(call: Call): Promise<Walked<Reservation>> {
      if (clock.monotonic() >= freshUntilMs) return refresh(call);
      return whatIsKept();
    },
    evict(reservationId: string): void {
      evictedAtMs.set(reservationId, clock.monotonic());
      kept.delete(reservationId);
    },
    /** Something contradicts the cache: the next `available` reads again. */
    expire(): void {
      expiredAtMs = clock.monotonic();
      freshUntilMs = 0;
    },
  };
}
export type ReservationCache = ReturnType<typeof createReservationCache>;

export interface StockDeps {
  readonly client: EquinixClient;
  readonly view: Pick<DeviceView, 'show'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsOf<'equinix_reservations'>;
}

/** All devices and reservations, with what is cached about them. */
export function createStock(config: EquinixConfig, deps: StockDeps) {
  const { client, view, clock } = deps;
  const tellNews = createNews(deps.log);
  const reservations = createReservationCache(
    { timeoutMs: config.reservationCacheTimeout },
    { clock, list: client.listReservations, onRefresh: note },
  );

  function note({ available, inUse, notProvisionable }: ReservationCounts) {
    const total = available + inUse + notProvisionable;
    const counts = { available, inUse, notProvisionable, total };
    tellNews(config.name, { provider: config.name, ...counts }, 'reservations read');
    const classes = { available, in_use: inUse, not_provisionable: notProvisionable };
    for (const [of, machines] of Object.entries(classes)) {
      deps.metrics.set('equinix_reservations', { class: of }, machines);
    }
  }

  return {
    reservations,
    /** Reservations first: if a device is created in between, its own entry shows it. */
    async list(call: Call): Promise<DriverListing> {
      const free = await reservations.available(call);
      const devices = await client.listDevices(call);
      const taken = new Set(devices.items.map((device) => idOf(device.hardware_reservation)));
      const stillFree = free.items.filter(({ id }) => !taken.has(id));
      for (const { id } of free.items) if (taken.has(id)) reservations.evict(id);
      const managed = devices.items.filter((device) => isManaged(device, config));
      const unreadable: UnreadableEntry[] = [...devices.unread];
      // A used reservation is shown by its device; an unreadable one is not offered.
      for (const { id, fault } of free.unread) {
        if (!taken.has(id)) unreadable.push({ id: null, reservationId: id, fault });
      }
      return {
        machines: [...managed.map(view.show), ...stillFree.map(toFreeCapacity)],
        complete: free.complete && devices.complete,
        unreadable,
      };
    },
  };
}
