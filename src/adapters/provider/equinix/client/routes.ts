import type { EquinixConfig } from '../settings.ts';
import { createDeviceRoutes, type DeviceRoutes } from './device-routes.ts';
import { createKeyRoutes, type KeyRoutes } from './key-routes.ts';
import type { List } from './listing.ts';
import { createReservationRoutes, type ReservationRoutes } from './reservation-routes.ts';

/** The routes of the API, one function each: what is sent and what comes back, and nothing else. */
export type Routes = DeviceRoutes & ReservationRoutes & KeyRoutes;

export const createRoutes = (config: Pick<EquinixConfig, 'projectId'>, list: List): Routes => ({
  ...createDeviceRoutes(config, list),
  ...createReservationRoutes(config, list),
  ...createKeyRoutes(config),
});
