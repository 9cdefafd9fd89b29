import type { UnreadableEntry } from '../../../domain/machine.ts';
import type { Clock } from '../../clock/port.ts';
import { createNews, type Log } from '../../log/port.ts';
import type { MetricsOf } from '../../metrics/port.ts';
import type { DriverListing } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { idOf } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import { toFreeCapacity } from './mapping.ts';
import { isManaged } from './ownership.ts';
import {
  createReservationCache,
  type ReservationCache,
  type ReservationCounts,
} from './reservation-cache.ts';
import type { EquinixConfig } from './settings.ts';

/** Everything that there is, and what is remembered of it. */
export interface Stock {
  list(signal: AbortSignal): Promise<DriverListing>;
  readonly reservations: ReservationCache;
}

export interface StockDeps {
  readonly client: EquinixClient;
  readonly view: Pick<DeviceView, 'show'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsOf<'equinix_reservations'>;
}

export function createStock(config: EquinixConfig, deps: StockDeps): Stock {
  const { client, view, clock } = deps;
  const tellNews = createNews(deps.log);
  const reservations = createReservationCache(
    { timeoutMs: config.reservationCacheTimeoutMs },
    { clock, list: (signal) => client.listReservations(signal), onRefresh: note },
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
    /** Reservations first: what is created in between is then shown by its device. */
    async list(signal) {
      const free = await reservations.available(signal);
      const devices = await client.listDevices(signal);
      const taken = new Set(devices.items.map((device) => idOf(device.hardware_reservation)));
      const stillFree = free.items.filter(({ id }) => !taken.has(id));
      for (const { id } of free.items) if (taken.has(id)) reservations.evict(id);
      const managed = devices.items.filter((device) => isManaged(device, config));
      const unreadable: UnreadableEntry[] = [...devices.unread];
      // Of what is in use the device tells; it is not offered while it cannot be read.
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
