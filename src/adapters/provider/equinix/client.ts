import { isDeepStrictEqual } from 'node:util';
import { isProviderError, type ProviderError } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/ids.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isNotFound, isRefused, nullIfGone } from '../../driver-kit/errors.ts';
import { isSameKey, ourKeyAmong, type WantedKey } from '../../driver-kit/our-key.ts';
import { mutate, readPages, type Page, type Walked } from '../../driver-kit/pages.ts';
import type { ApiRequest } from '../../driver-kit/terms.ts';
import type { CallOptions } from '../port.ts';
import {
  device,
  devicePage,
  events,
  nothing,
  ofId,
  reservation,
  reservationPage,
  sshKey,
  sshKeyList,
  writtenDevice,
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
  /** Absent: the machine gets all keys of project and account. */
  readonly project_ssh_keys?: readonly string[];
  readonly metro?: string;
  /** Secret. */
  readonly userdata?: string;
}

/** Changes to a device; absent fields stay. */
export interface DevicePatch {
  readonly hostname?: string;
  readonly tags?: readonly string[];
  /** Secret. */
  readonly userdata?: string;
}

/** An action that must not run twice; only `reinstall` has fields besides its type. */
export interface OnceAction {
  readonly type: 'reboot' | 'reinstall';
  /** Absent: the same system as before. */
  readonly operating_system?: string;
}

/** Awaited just before each request that changes something; if it throws, the operation ends. */
type BeforeSending = CallOptions['beforeSending'];

/** Related objects to read with a device. */
type Expansion = { readonly include: string; readonly exclude?: string };
const ITSELF: Expansion = { include: 'facility' };
const WITH_RESERVATION: Expansion = { include: 'facility,hardware_reservation' };
const BY_NAME = { ...ITSELF, sort_by: 'hostname', sort_direction: 'asc' };
const OLDEST_FIRST = { include: 'facility,device', sort_by: 'created_at', sort_direction: 'asc' };

/** Delays between checks for a trace of an action whose reply was lost, in milliseconds. */
const LOOKS_AFTER_MS = [0, 2_000, 5_000];

/**
 * Operations of the API for one project. Each belongs to a `Call`, which limits and counts it.
 * Idempotent changes are repeated until seen; an action is sent once. All reject with a
 * `ProviderError`; `invalid` without an answer: the request is impossible.
 */
export function createEquinixClient(config: Pick<EquinixConfig, 'projectId' | 'pageSize'>) {
  const at = (call: Call, collection: string, id: string, rest = ''): string => {
    if (!isUuid(id)) throw call.error('invalid', 'the id is not a lower-case UUID');
    return `/${collection}/${id}${rest}`;
  };
  const inProject = (call: Call, rest: string) => at(call, 'projects', config.projectId, rest);
  const get = <T>(
    call: Call,
    path: string,
    schema: ApiRequest<T>['schema'],
    query: ApiRequest<T>['query'] = {},
  ): Promise<T> => call.send({ method: 'GET', path, query, schema });

  interface List<T> {
    readonly endpoint: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly schema: ApiRequest<Page<T>>['schema'];
    readonly bulk?: boolean;
    readonly insist?: boolean;
  }
  const list = <T extends { readonly id: string }>(
    call: Call,
    { endpoint, path, query, schema, bulk = true, insist = false }: List<T>,
  ): Promise<Walked<T>> =>
    readPages(call, {
      ...{ endpoint, insist },
      fetchPage: (page) => {
        const paging = { page: String(page), per_page: String(config.pageSize) };
        return call.send({ method: 'GET', path, query: { ...query, ...paging }, schema, bulk });
      },
    });

  const getDevice = (call: Call, id: string, query = WITH_RESERVATION): Promise<Device> =>
    get(call, at(call, 'devices', id), ofId(device, id), { ...query });

  const sendAction = (call: Call, id: string, body: object, beforeAttempt: BeforeSending) => {
    const request = { method: 'POST', path: at(call, 'devices', id, '/actions'), body } as const;
    return call.send({ ...request, schema: nothing, beforeAttempt });
  };

  /** The newest events, in one request. */
  const newestEvents = async (call: Call, id: string): Promise<readonly DeviceEvent[]> => {
    const path = at(call, 'devices', id, '/events');
    return (await get(call, path, events, { per_page: '100' })).events.items;
  };

  /** Null if the server has no events. */
  async function eventIds(call: Call, id: string): Promise<ReadonlySet<unknown> | null> {
    try {
      return new Set((await newestEvents(call, id)).map((event) => event.id));
    } catch (error) {
      // The route may not exist; then the reply need not have the API's form.
      const isNone = isProviderError(error) && error.answer?.status === 404;
      const isHidden = isForbidden(error) || isProviderError(error, 'permanent');
      if (isNone || isHidden || isRefused(error)) return null;
      throw error;
    }
  }

  /** Only for a reinstallation: a reboot does not change the state. */
  async function showsTrace(
    call: Call,
    id: string,
    { type, before }: Pick<OnceAction, 'type'> & { readonly before: ReadonlySet<unknown> | null },
  ): Promise<boolean> {
    if (type === 'reinstall' && (await getDevice(call, id, ITSELF)).state === 'reinstalling') {
      return true;
    }
    if (!before) return false;
    const names = ({ type: of = '', body = '' }: DeviceEvent) =>
      `${of} ${body}`.toLowerCase().includes(type);
    return (await newestEvents(call, id)).some((event) => !before.has(event.id) && names(event));
  }

  const listSshKeys = async (call: Call): Promise<readonly SshKey[]> =>
    (await get(call, inProject(call, '/ssh-keys'), sshKeyList)).ssh_keys.items;
  const getSshKey = (call: Call, id: string): Promise<SshKey> =>
    get(call, at(call, 'ssh-keys', id), ofId(sshKey, id));

  /** With project tokens the API stores the key but replies 404. */
  const storeKey = (call: Call, wanted: WantedKey): Promise<SshKey> =>
    mutate(call, {
      endpoint: 'CreateSSHKey',
      send: () => {
        const body = { label: wanted.name, key: wanted.key };
        const path = inProject(call, '/ssh-keys');
        return call.send({ method: 'POST', path, body, schema: sshKey });
      },
      look: async () => {
        const value = await findKey(call, wanted);
        return value && isSameKey(value.key, wanted.key) ? { value } : null;
      },
      looksAfter: isNotFound,
    });

  async function findKey(call: Call, wanted: WantedKey): Promise<SshKey | undefined> {
    const byId = (await listSshKeys(call)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return ourKeyAmong(byId, wanted, ({ id, label, key }) => ({ id, name: label, key }));
  }

  function replaceKey(call: Call, id: string, { key }: WantedKey): Promise<SshKey> {
    let method: 'PATCH' | 'PUT' = 'PATCH';
    const change = () =>
      call.send({
        method,
        path: at(call, 'ssh-keys', id),
        body: { key },
        schema: ofId(sshKey, id),
      });
    return mutate(call, {
      endpoint: 'UpdateSSHKey',
      send: () =>
        change().catch((error: unknown) => {
          // The published description says PUT, but clients send PATCH.
          if (!isWrongMethod(error) || method === 'PUT') throw error;
          method = 'PUT';
          return change();
        }),
      look: async () => {
        const value = await getSshKey(call, id);
        return isSameKey(value.key, key) ? { value } : null;
      },
    });
  }

  return {
    getDevice,
    /** All devices of the project, also foreign ones. @param insist fail on a listing with gaps. */
    listDevices: (call: Call, insist = false): Promise<Walked<Device>> =>
      list(call, {
        ...{ endpoint: 'ListDevices', path: inProject(call, '/devices'), query: BY_NAME },
        ...{ schema: devicePage, insist },
      }),
    /**
     * Devices with exactly this tag; the server's own filter is not trusted. Usually one short
     * page, so this does not wait behind long listings.
     */
    async listDevicesByTag(call: Call, tag: string): Promise<Walked<Device>> {
      const query = { tag, ...WITH_RESERVATION };
      const where = { endpoint: 'ListDevices', path: inProject(call, '/devices'), query };
      const found = await list(call, { ...where, schema: devicePage, bulk: false });
      // An unreadable device may carry the tag, too.
      const complete = found.complete && found.unread.length === 0;
      return { ...found, items: found.items.filter(({ tags }) => tags.includes(tag)), complete };
    },
    listReservations: (call: Call, insist = false): Promise<Walked<Reservation>> =>
      list(call, {
        ...{ endpoint: 'ListReservations', path: inProject(call, '/hardware-reservations') },
        ...{ query: OLDEST_FIRST, schema: reservationPage, insist },
      }),
    getReservation: (call: Call, id: string): Promise<Reservation> =>
      get(call, at(call, 'hardware-reservations', id), ofId(reservation, id), {
        include: 'device,facility,project',
      }),
    /** Not repeated when its outcome is unknown. */
    postDevice: (
      call: Call,
      body: CreateDeviceBody,
      beforeAttempt: () => Promise<void>,
    ): Promise<Device> => {
      const request = { method: 'POST', path: inProject(call, '/devices'), body } as const;
      return call.send({
        ...request,
        query: { ...WITH_RESERVATION },
        schema: device,
        beforeAttempt,
      });
    },
    updateDevice(
      call: Call,
      id: string,
      patch: DevicePatch,
      beforeAttempt?: BeforeSending,
    ): Promise<Device> {
      const path = at(call, 'devices', id);
      const query = { ...ITSELF };
      const request = { method: 'PUT', path, query, body: patch, beforeAttempt } as const;
      return mutate(call, {
        endpoint: 'UpdateDevice',
        send: () => call.send({ ...request, schema: ofId(device, id) }),
        look: async () => {
          // Includes `userdata`, only to compare it with the sent value.
          const written = await get(call, path, ofId(writtenDevice, id), query);
          return agrees(written, patch) ? { value: device.parse(written) } : null;
        },
      });
    },
    /** True: the API accepted the request. False: the device was already deleted. */
    deleteDevice(
      call: Call,
      id: string,
      beforeAttempt?: BeforeSending,
    ): Promise<'accepted' | 'unknown device'> {
      const request = { method: 'DELETE', path: at(call, 'devices', id), beforeAttempt } as const;
      return mutate(call, {
        endpoint: 'DeleteDevice',
        send: async () => {
          const taken = await call.send({ ...request, schema: accepted }).catch(nullIfGone);
          return taken ?? 'unknown device';
        },
        look: async () => {
          const seen = await getDevice(call, id, ITSELF).catch(nullIfGone);
          if (!seen) return { value: 'unknown device' as const };
          return LEAVING.has(seen.state ?? '') ? { value: 'accepted' as const } : null;
        },
      });
    },
    /** Sends nothing if the machine already has the power state, or is changing to it. */
    switchPower: (
      call: Call,
      id: string,
      want: 'on' | 'off',
      beforeAttempt?: BeforeSending,
    ): Promise<void> =>
      mutate<undefined>(call, {
        endpoint: 'PerformDeviceAction',
        send: () => sendAction(call, id, { type: `power_${want}` }, beforeAttempt),
        look: async () => {
          const { state = '' } = await getDevice(call, id, ITSELF);
          return POWERED[want].has(state) ? { value: undefined } : null;
        },
        looksAfter: ({ answer }) => answer?.status === 422,
        repeatsMax: 1,
      }),
    /**
     * Requests an action, once. If the reply is lost, a new event of that action proves that it was
     * accepted. An event is new if it did not exist before the request; the two clocks are not
     * compared.
     * @param look last check before the request.
     */
    async actOnce(
      call: Call,
      id: string,
      action: OnceAction,
      how: { readonly look?: () => Promise<unknown>; readonly beforeSending?: BeforeSending } = {},
    ): Promise<void> {
      const before = await eventIds(call, id);
      await how.look?.();
      await mutate<undefined>(call, {
        endpoint: 'PerformDeviceAction',
        send: () => sendAction(call, id, action, how.beforeSending),
        look: async () => {
          const isSeen = await showsTrace(call, id, { ...action, before }).catch(
            falseUnlessAborted,
          );
          return isSeen ? { value: undefined } : null;
        },
        waitsMs: LOOKS_AFTER_MS,
        repeatsMax: 0,
      });
    },
    listSshKeys,
    /** A key that does not exist counts as deleted. */
    deleteSshKey: (call: Call, id: string): Promise<void> =>
      mutate<undefined>(call, {
        endpoint: 'DeleteSSHKey',
        send: async () => {
          const request = { method: 'DELETE', path: at(call, 'ssh-keys', id) } as const;
          await call.send({ ...request, schema: nothing }).catch(nullIfGone);
          return undefined;
        },
        look: async () =>
          (await getSshKey(call, id).catch(nullIfGone)) ? null : { value: undefined },
      }),
    /**
     * Ensures that the label holds our key, so that new machines let us in. Resolves with the key's
     * id.
     * @param onReplaced called after replacing an earlier key, with its OpenSSH line.
     * @throws {ProviderError} `conflict`: the label belongs to a key that is not ours.
     */
    async ensureSshKey(
      call: Call,
      wanted: WantedKey,
      onReplaced: (previousKey: string) => void = () => undefined,
    ): Promise<string> {
      // Daemons that start together may each have stored our key; any of the copies is fine.
      const existing = await findKey(call, wanted);
      if (!existing) return (await storeKey(call, wanted)).id;
      if (isSameKey(existing.key, wanted.key)) return existing.id;
      const { id } = await replaceKey(call, existing.id, wanted);
      onReplaced(existing.key);
      return id;
    },
  };
}
export type EquinixClient = ReturnType<typeof createEquinixClient>;

const accepted = nothing.transform(() => 'accepted' as const);

/** A field that the server hides counts as different, so the change is repeated. */
const agrees = (written: Readonly<Record<string, unknown>>, patch: DevicePatch): boolean =>
  Object.entries(patch).every(([name, value]) => isDeepStrictEqual(written[name], value));

const LEAVING: ReadonlySet<string> = new Set(['deprovisioning', 'deleted']);

const POWERED: Readonly<Record<'on' | 'off', ReadonlySet<string>>> = {
  on: new Set(['powering_on', 'active']),
  off: new Set(['powering_off', 'inactive']),
};

/** A failed check proves nothing either way. */
function falseUnlessAborted(error: unknown): false {
  if (isProviderError(error) && error.kind !== 'aborted') return false;
  throw error;
}

const isWrongMethod = (error: unknown): error is ProviderError =>
  isProviderError(error) && [404, 405].includes(error.answer?.status ?? 0);

/** The API says that the object is hidden from us. */
export const isForbidden = (error: unknown): error is ProviderError =>
  isProviderError(error, 'auth') && error.answer?.status === 403;
