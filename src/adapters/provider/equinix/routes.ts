import type { Api } from '../../driver-kit/api.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { ApiRequest } from '../../driver-kit/terms.ts';
import { readPages, type Walked } from '../../driver-kit/pages.ts';
import {
  checkedId,
  expansionOf,
  pagingOf,
  device,
  devicePage,
  events,
  nothing,
  ofId,
  writtenDevice,
  reservation,
  reservationPage,
  sshKey,
  sshKeyList,
  type BeforeSending,
  type Expansion,
  type ListOptions,
  type Within,
  type Device,
  type DeviceEvent,
  type Reservation,
  type SshKey,
} from './api.ts';
import type { EquinixConfig } from './settings.ts';

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
  readonly tags?: readonly string[];
  /** Secret. */
  readonly userdata?: string;
}

/** Body of an action; only `reinstall` has more than its type. */
export interface DeviceAction {
  readonly type: 'reboot' | 'power_on' | 'power_off' | 'reinstall';
  readonly operating_system?: string;
}

const OLDEST_FIRST = { sort_by: 'created_at', sort_direction: 'asc' };
const WITH_RESERVATION = { include: 'facility,hardware_reservation' };

/**
 * The routes of the API, one function each: what is sent and what comes back. All belong to a `Call`,
 * which bounds and counts them; all throw `ApiError` and nothing else.
 */
export function createRoutes(
  config: Pick<EquinixConfig, 'projectId' | 'pageSize'>,
  api: Pick<Api, 'call'>,
) {
  const devicesOf = (call: Call) => `/projects/${checkedId(call, config.projectId)}/devices`;
  const pathOf = (call: Call, id: string) => `/devices/${checkedId(call, id)}`;
  const keysOf = (call: Call) => `/projects/${checkedId(call, config.projectId)}/ssh-keys`;
  const keyPathOf = (call: Call, id: string) => `/ssh-keys/${checkedId(call, id)}`;

  return {
    async getDevice(
      id: string,
      within: Within,
      expansion: Expansion = { include: ['hardware_reservation'] },
    ): Promise<Device> {
      const call = api.call('getDevice', within);
      return call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: expansionOf(expansion, ['facility']),
        schema: ofId(device, id),
      });
    },
    /** With `userdata`, for a comparison with what was sent; it is to go no further. */
    getWrittenDevice: (call: Call, id: string) =>
      call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: { include: 'facility' },
        schema: ofId(writtenDevice, id),
      }),
    /** All devices of a project, foreign ones included. */
    async listDevices(within: Within, options: ListOptions = {}): Promise<Walked<Device>> {
      const call = api.call('listDevices', within);
      const path = devicesOf(call);
      const order = { include: 'facility', sort_by: 'hostname', sort_direction: 'asc' };
      const fetchPage = async (page: number) => {
        const query = { ...order, ...pagingOf(config, page) };
        const request = { method: 'GET', path, query, bulk: true } as const;
        const { devices, meta } = await call.send({ ...request, schema: devicePage });
        return { ...devices, ...meta };
      };
      return readPages(call, { ...options, endpoint: 'ListDevices', fetchPage });
    },
    /**
     * Devices that carry exactly this tag; the server's own filter is not trusted. One short page
     * as a rule, so it does not wait behind the long listings.
     */
    listDevicesByTag: async (call: Call, tag: string): Promise<Walked<Device>> => {
      const path = devicesOf(call);
      const fetchPage = async (page: number) => {
        const query = { tag, ...WITH_RESERVATION, ...pagingOf(config, page) };
        const { devices, meta } = await call.send({
          method: 'GET',
          path,
          query,
          schema: devicePage,
        });
        return { ...devices, ...meta };
      };
      const found = await readPages(call, { endpoint: 'ListDevices', fetchPage });
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
        method: 'PUT',
        path: pathOf(call, id),
        query: { include: 'facility' },
        body,
        schema: ofId(device, id),
        beforeAttempt: beforeSending,
      }),
    deleteDevice: (
      call: Call,
      id: string,
      { beforeSending }: BeforeSending,
    ): Promise<undefined> => {
      const request = { method: 'DELETE', path: pathOf(call, id) } as const;
      return call.send({ ...request, schema: nothing, beforeAttempt: beforeSending });
    },
    /** What is sent to ask for an action. */
    actionOf(
      call: Call,
      id: string,
      body: DeviceAction,
      beforeSending?: BeforeSending['beforeSending'],
    ): ApiRequest<undefined> {
      const request = { method: 'POST', path: `${pathOf(call, id)}/actions`, body } as const;
      return { ...request, schema: nothing, beforeAttempt: beforeSending };
    },
    /** The newest ones, in one request. */
    newestEvents: async (call: Call, id: string): Promise<readonly DeviceEvent[]> => {
      const path = `${pathOf(call, id)}/events`;
      const query = { per_page: '100' };
      return (await call.send({ method: 'GET', path, query, schema: events })).events.items;
    },
    async listReservations(
      within: Within,
      options: ListOptions = {},
    ): Promise<Walked<Reservation>> {
      const call = api.call('listReservations', within);
      const path = `/projects/${checkedId(call, config.projectId)}/hardware-reservations`;
      const fetchPage = async (number: number) => {
        const query = { include: 'facility,device', ...OLDEST_FIRST, ...pagingOf(config, number) };
        const request = { method: 'GET', path, query, bulk: true } as const;
        const page = await call.send({ ...request, schema: reservationPage });
        return { ...page.hardware_reservations, ...page.meta };
      };
      return readPages(call, { ...options, endpoint: 'ListReservations', fetchPage });
    },
    async getReservation(id: string, within: Within): Promise<Reservation> {
      const call = api.call('getReservation', within);
      return call.send({
        method: 'GET',
        path: `/hardware-reservations/${checkedId(call, id)}`,
        query: { include: 'device,facility,project' },
        schema: ofId(reservation, id),
      });
    },
    async listProjectSshKeys(within: Within): Promise<readonly SshKey[]> {
      const call = api.call('listProjectSshKeys', within);
      const request = { method: 'GET', path: keysOf(call), schema: sshKeyList } as const;
      return (await call.send(request)).ssh_keys.items;
    },
    getSshKey: (call: Call, id: string): Promise<SshKey> =>
      call.send({ method: 'GET', path: keyPathOf(call, id), schema: ofId(sshKey, id) }),
    postSshKey: (
      call: Call,
      body: { readonly label: string; readonly key: string },
    ): Promise<SshKey> => call.send({ method: 'POST', path: keysOf(call), body, schema: sshKey }),
    changeSshKey: (
      call: Call,
      { id, ...body }: { readonly id: string; readonly key: string },
      method: 'PATCH' | 'PUT',
    ): Promise<SshKey> =>
      call.send({ method, path: keyPathOf(call, id), body, schema: ofId(sshKey, id) }),
    deleteSshKey: (call: Call, id: string): Promise<undefined> =>
      call.send({ method: 'DELETE', path: keyPathOf(call, id), schema: nothing }),
  };
}
export type Routes = ReturnType<typeof createRoutes>;
