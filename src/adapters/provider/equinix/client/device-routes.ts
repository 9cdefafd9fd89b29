import type { EquinixConfig } from '../settings.ts';
import type { Call } from './call.ts';
import type { List, ListOptions, Paging } from './listing.ts';
import type { Walked } from './pages.ts';
import { type BeforeSending, checkedId, type Expansion, expansionOf } from './request-parts.ts';
import {
  type Device,
  device,
  type DeviceEvent,
  devicePage,
  events,
  nothing,
  ofId,
  writtenDevice,
} from './schema.ts';

/** Body of a creation; the server refuses unknown plans, systems and keys. */
export interface CreateDeviceBody {
  readonly hostname: string;
  readonly plan: string;
  readonly operating_system: string;
  readonly hardware_reservation_id: string;
  readonly tags: readonly string[];
  /** Absent: all keys of project and account reach the machine. */
  readonly project_ssh_keys?: readonly string[];
  readonly metro?: string;
  /** Secret. */
  readonly userdata?: string;
  /** Secret. */
  readonly customdata?: Readonly<Record<string, unknown>>;
  readonly locked?: boolean;
}

/** What can be changed of a device; what is not given stays. */
export interface DevicePatch {
  readonly hostname?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /** Secret. */
  readonly userdata?: string;
  /** Secret. */
  readonly customdata?: Readonly<Record<string, unknown>>;
  readonly locked?: boolean;
  readonly always_pxe?: boolean;
  readonly ipxe_script_url?: string;
}

/** Body of an action; only `reinstall` has more than its type. */
export interface DeviceAction {
  readonly type: 'reboot' | 'power_on' | 'power_off' | 'reinstall';
  readonly operating_system?: string;
}

const WITH_RESERVATION = { include: 'facility,hardware_reservation' };

/**
 * The routes of devices, one function each. All belong to a `Call`, which bounds and counts them;
 * all throw `EquinixError` and nothing else.
 */
export function createDeviceRoutes(config: Pick<EquinixConfig, 'projectId'>, list: List) {
  const devicesOf = (call: Call, projectId: string = config.projectId) =>
    `/projects/${checkedId(call, projectId)}/devices`;
  const pathOf = (call: Call, id: string) => `/devices/${checkedId(call, id)}`;

  return {
    getDevice: (
      call: Call,
      id: string,
      expansion: Expansion = { include: ['hardware_reservation'] },
    ): Promise<Device> =>
      call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: expansionOf(expansion, ['facility']),
        schema: ofId(device, id),
      }),
    /** With `userdata`, for a comparison with what was sent; it is to go no further. */
    getWrittenDevice: (call: Call, id: string) =>
      call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: { include: 'facility' },
        schema: ofId(writtenDevice, id),
      }),
    /** All devices of a project, foreign ones included. */
    listDevices: (call: Call, options: ListOptions = {}): Promise<Walked<Device>> => {
      const path = devicesOf(call, options.projectId);
      const order = { include: 'facility', sort_by: 'hostname', sort_direction: 'asc' };
      const fetchPage = async (paging: Paging) => {
        const query = { ...order, ...paging };
        const request = { method: 'GET', path, query, bulk: true } as const;
        const { devices, meta } = await call.send({ ...request, schema: devicePage });
        return { ...devices, meta };
      };
      return list(call, { endpoint: 'ListDevices', fetchPage }, options);
    },
    /**
     * Devices that carry exactly this tag; the server's own filter is not trusted. One short page
     * as a rule, so it does not wait behind the long listings.
     */
    listDevicesByTag: async (call: Call, tag: string): Promise<Walked<Device>> => {
      const path = devicesOf(call);
      const fetchPage = async (paging: Paging) => {
        const query = { tag, ...WITH_RESERVATION, ...paging };
        const page = await call.send({ method: 'GET', path, query, schema: devicePage });
        return { ...page.devices, meta: page.meta };
      };
      const found = await list(call, { endpoint: 'ListDevices', fetchPage });
      // One that cannot be read may carry the tag too.
      const complete = found.complete && found.unread.length === 0;
      return { ...found, items: found.items.filter(({ tags }) => tags.includes(tag)), complete };
    },
    /** Not repeated when its outcome is unknown. `beforeAttempt` is awaited before each attempt. */
    createDevice: (
      call: Call,
      body: CreateDeviceBody,
      beforeAttempt: () => Promise<void>,
    ): Promise<Device> => {
      const path = devicesOf(call);
      const request = { method: 'POST', path, query: WITH_RESERVATION, body } as const;
      return call.send({ ...request, schema: device, beforeAttempt });
    },
    putDevice: (
      call: Call,
      id: string,
      body: DevicePatch,
      beforeSending?: BeforeSending['beforeSending'],
    ): Promise<Device> =>
      call.send({
        ...checkOf(beforeSending),
        method: 'PUT',
        path: pathOf(call, id),
        query: { include: 'facility' },
        body,
        schema: ofId(device, id),
      }),
    deleteDevice: (
      call: Call,
      id: string,
      { force, beforeSending }: BeforeSending & { readonly force: boolean },
    ): Promise<undefined> => {
      const query = force ? { force_delete: 'true' } : {};
      const request = { method: 'DELETE', path: pathOf(call, id), query } as const;
      return call.send({ ...request, schema: nothing, ...checkOf(beforeSending) });
    },
    postAction: (
      call: Call,
      id: string,
      body: DeviceAction,
      beforeSending?: BeforeSending['beforeSending'],
    ): Promise<undefined> => {
      const path = `${pathOf(call, id)}/actions`;
      const check = checkOf(beforeSending);
      return call.send({ method: 'POST', path, body, schema: nothing, ...check });
    },
    /** The newest ones, in one request. */
    newestEvents: async (call: Call, id: string): Promise<readonly DeviceEvent[]> => {
      const path = `${pathOf(call, id)}/events`;
      const query = { per_page: '100' };
      return (await call.send({ method: 'GET', path, query, schema: events })).events.items;
    },
  };
}
export type DeviceRoutes = ReturnType<typeof createDeviceRoutes>;

const checkOf = (beforeAttempt: BeforeSending['beforeSending']) =>
  beforeAttempt === undefined ? {} : { beforeAttempt };
