import type { Call } from './call.ts';
import type { EquinixConfig } from './config.ts';
import { PageOrderError, type Page, type Walked, walkPages } from './pages.ts';
import {
  type Device,
  device,
  type DeviceEvent,
  devicePage,
  eventPage,
  nothing,
  type Reservation,
  reservation,
  reservationPage,
  type SshKey,
  sshKey,
  sshKeyList,
} from './schema.ts';
import { isUuid } from '../../../domain/ids.ts';

/** Body of a creation; the server refuses unknown plans, systems and keys. */
export interface CreateDeviceBody {
  readonly hostname: string;
  readonly plan: string;
  readonly operating_system: string;
  readonly hardware_reservation_id: string;
  readonly project_id: string;
  readonly project_ssh_keys: readonly string[];
  readonly tags: readonly string[];
  readonly metro?: string;
}

/**
 * The routes of the API, one function each. All belong to a `Call`, which bounds and counts them;
 * all throw `EquinixError` and nothing else.
 */
export function createRoutes(config: Pick<EquinixConfig, 'projectId' | 'pageSize'>) {
  const project = `/projects/${config.projectId}`;

  async function pages<T extends { readonly id: string }>(
    call: Call,
    fetchPage: (paging: Record<string, string>) => Promise<Page<T>>,
  ): Promise<Walked<T>> {
    const size = { per_page: String(config.pageSize ?? 100) };
    try {
      return await walkPages((page) => fetchPage({ page: String(page), ...size }));
    } catch (error) {
      throw error instanceof PageOrderError ? call.error('Protocol', error.message) : error;
    }
  }

  return {
    /** The device with its facility and reservation. */
    getDevice: (call: Call, id: string): Promise<Device> =>
      call.send({
        method: 'GET',
        path: `/devices/${checkedId(call, id)}`,
        query: { include: 'facility,hardware_reservation' },
        schema: device,
      }),
    /** All devices of the project, foreign ones included. */
    listDevices: (call: Call): Promise<Walked<Device>> =>
      pages(call, async (paging) => {
        const { devices, meta } = await call.send({
          method: 'GET',
          path: `${project}/devices`,
          query: { include: 'facility', sort_by: 'hostname', sort_direction: 'asc', ...paging },
          schema: devicePage,
          bulk: true,
        });
        return { items: devices, meta };
      }),
    /** Devices that carry exactly this tag. The server's own filter is not trusted. */
    listDevicesByTag: async (call: Call, tag: string): Promise<Device[]> => {
      const { items } = await pages(call, async (paging) => {
        const query = { tag, include: 'facility,hardware_reservation', ...paging };
        const request = { method: 'GET', path: `${project}/devices`, query } as const;
        const { devices, meta } = await call.send({ ...request, schema: devicePage });
        return { items: devices, meta };
      });
      return items.filter(({ tags }) => tags.includes(tag));
    },
    /** Not repeated when its outcome is unknown. `beforeAttempt` is awaited before each attempt. */
    createDevice: (
      call: Call,
      body: CreateDeviceBody,
      beforeAttempt: () => Promise<void>,
    ): Promise<Device> =>
      call.send({
        method: 'POST',
        path: `${project}/devices`,
        query: { include: 'facility,hardware_reservation' },
        body,
        schema: device,
        beforeAttempt,
      }),
    rebootDevice: (call: Call, id: string): Promise<undefined> =>
      call.send({
        method: 'POST',
        path: `/devices/${checkedId(call, id)}/actions`,
        body: { type: 'reboot' },
        schema: nothing,
      }),
    /** The newest ones. */
    listDeviceEvents: async (call: Call, id: string): Promise<readonly DeviceEvent[]> => {
      const path = `/devices/${checkedId(call, id)}/events`;
      const query = { per_page: '100' };
      return (await call.send({ method: 'GET', path, query, schema: eventPage })).events;
    },
    /** All reservations of the project: slow and costly. */
    listReservations: (call: Call): Promise<Walked<Reservation>> =>
      pages(call, async (paging) => {
        const sorting = { sort_by: 'created_at', sort_direction: 'asc' };
        const { hardware_reservations, meta } = await call.send({
          method: 'GET',
          path: `${project}/hardware-reservations`,
          query: { include: 'facility,device', ...sorting, ...paging },
          schema: reservationPage,
          bulk: true,
        });
        return { items: hardware_reservations, meta };
      }),
    getReservation: (call: Call, id: string): Promise<Reservation> =>
      call.send({
        method: 'GET',
        path: `/hardware-reservations/${checkedId(call, id)}`,
        query: { include: 'device,facility,project' },
        schema: reservation,
      }),
    listProjectSshKeys: async (call: Call): Promise<readonly SshKey[]> =>
      (await call.send({ method: 'GET', path: `${project}/ssh-keys`, schema: sshKeyList }))
        .ssh_keys,
    postSshKey: (call: Call, body: { label: string; key: string }): Promise<SshKey> =>
      call.send({ method: 'POST', path: `${project}/ssh-keys`, body, schema: sshKey }),
    patchSshKey: (
      call: Call,
      id: string,
      body: { label?: string; key?: string },
      method: 'PATCH' | 'PUT' = 'PATCH',
    ): Promise<SshKey> =>
      call.send({ method, path: `/ssh-keys/${checkedId(call, id)}`, body, schema: sshKey }),
  };
}
export type Routes = ReturnType<typeof createRoutes>;

function checkedId(call: Call, id: string): string {
  if (!isUuid(id)) throw call.error('InvalidArgument', 'the id is no lower-case UUID');
  return id;
}
