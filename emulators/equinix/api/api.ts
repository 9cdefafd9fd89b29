import type { Core } from '../core.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Call } from './call.ts';
import type { Device, Reservation } from '../state/state.ts';
import { isVisible, isWithdrawn } from '../core.ts';
import { expand, parseSelection, withoutNulls, type Node } from './expansion.ts';
import { createListCache, type Paged } from './list-cache.ts';
import { pageOf } from './paging.ts';
import { createViews, type Views } from './views.ts';

/** What route handlers work with. */
export interface Api {
  readonly core: Core;
  readonly lifecycle: Lifecycle;
  readonly views: Views;
  /** One resource, expanded as the call asks. */
  readonly show: (call: Call, node: Node) => unknown;
  /** One page of resources under `name`, with meta. */
  readonly page: <T>(call: Call, name: string, list: Paged<T>) => unknown;
  /** The devices the call may see in a list. */
  readonly listed: (call: Call, fits: (device: Device) => boolean) => Device[];
}

export function createApi(core: Core, lifecycle: Lifecycle): Api {
  const show = (call: Call, node: Node) => {
    const include = parseSelection(call.query.get('include'));
    const shown = expand(node, include, parseSelection(call.query.get('exclude')));
    return core.knobs.omitNulls ? withoutNulls(shown) : shown;
  };
  const ordered = createListCache(core);
  return {
    core,
    lifecycle,
    views: createViews(core),
    show,
    page: (call, name, list) => {
      const { items, meta } = pageOf({
        items: ordered(call, list),
        query: call.query,
        path: call.path,
        hrefPrefix: core.knobs.hrefPrefix,
        maxPerPage: core.knobs.maxPerPage,
        chance: core.chance,
        disturbance: call.disturbance.pages,
      });
      const body = { [name]: items.map((item) => show(call, list.view(item))), meta };
      return core.knobs.omitNulls ? withoutNulls(body) : body;
    },
    listed: (call, fits) => {
      const lagMs = call.disturbance.staleDeviceMs;
      return [...core.state.devices.values()].filter(
        (device) =>
          isVisible(core, device) &&
          !isWithdrawn(core, device) &&
          (lagMs === 0 || core.now() - device.createdAtMs >= lagMs) &&
          fits(device),
      );
    },
  };
}

const DEVICE_FIELDS = new Map<string, (device: Device) => string | number | boolean>([
  ['id', (device) => device.id],
  ['short_id', (device) => device.id],
  ['hostname', (device) => device.hostname],
  ['state', (device) => device.state],
  ['locked', (device) => device.locked],
  ['created_at', (device) => device.createdAtMs],
  ['updated_at', (device) => device.updatedAtMs],
]);
export const deviceSortValue = (device: Device, field: string) =>
  DEVICE_FIELDS.get(field)?.(device);

const RESERVATION_FIELDS = new Map<string, (one: Reservation) => string | number | boolean>([
  ['id', (one) => one.id],
  ['short_id', (one) => one.id],
  ['created_at', (one) => one.createdAtMs],
  ['plan', (one) => one.plan],
  ['facility', (one) => one.facility],
]);
export const reservationSortValue = (reservation: Reservation, field: string) =>
  RESERVATION_FIELDS.get(field)?.(reservation);
