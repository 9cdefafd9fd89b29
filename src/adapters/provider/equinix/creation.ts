import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import type { CallOptions, CreateRequest, DriverMachine } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import type { DeviceOrder } from './client/device-order.ts';
import { isApiError } from '../../http/errors.ts';
import type { Device } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import { isManaged } from './ownership.ts';
import type { ReservationCache } from './reservation-cache.ts';
import type { EquinixConfig } from './settings.ts';
import type { OurSshKey } from './ssh-key.ts';
import { toApiTags } from './tags.ts';

export interface CreationDeps {
  readonly client: EquinixClient;
  readonly view: Pick<DeviceView, 'show'>;
  readonly sshKey: OurSshKey;
  readonly reservations: ReservationCache;
}

/** Makes devices, and learns from what comes of it. */
export function createCreation(config: EquinixConfig, deps: CreationDeps) {
  const { client, view, sshKey, reservations } = deps;

  function slotOf({ unused, hostname }: CreateRequest): string {
    const { reservationId, availability } = unused;
    if (availability !== 'KnownUnused' || !reservationId) {
      throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
    }
    if (isManaged({ hostname }, config)) return reservationId;
    throw new ProviderError('invalid', `a device ${hostname} could not be told to be ours`);
  }

  /** A key that somebody removed is put in place once; that it is missing is no slot's fault. */
  async function withOurKey(order: DeviceOrder, signal: AbortSignal): Promise<Device> {
    try {
      return await client.createDevice(order, signal);
    } catch (error) {
      if (order.sshKeyId === undefined || !isKeyRefused(error)) throw error;
    }
    const sshKeyId = await sshKey.ensure(signal);
    try {
      return await client.createDevice({ ...order, sshKeyId }, signal);
    } catch (error) {
      throw isKeyRefused(error)
        ? new ProviderError('auth', 'our SSH key is refused, though it is in place', {
            cause: error,
          })
        : error;
    }
  }

  /** What a failed creation says about the things we remember. */
  function learnFrom(error: unknown, reservationId: string) {
    if (isApiError(error, 'RaceLost', 'Rejected', 'NotFound', 'Capacity')) {
      reservations.evict(reservationId);
    }
    const isRefused = isApiError(error, 'Rejected', 'NotFound', 'Capacity');
    if (isRefused) reservations.expire();
    if (isRefused || isProviderError(error, 'auth')) sshKey.forget();
  }

  /** @throws {ApiError} @throws {ProviderError} `invalid`: not free, or not a name of ours. */
  return async (request: CreateRequest, options: CallOptions): Promise<DriverMachine> => {
    const { signal, operationId } = options;
    const reservationId = slotOf(request);
    const order: DeviceOrder = {
      reservationId,
      hostname: request.hostname,
      witness: operationId as Witness,
      tags: toApiTags(request.tags),
      operatingSystem: request.image ?? config.os,
      userdata: request.initCommand,
      resumed: request.resumed,
      onAttempt: request.onAttempt,
      ...(!config.useProjectKeys && { sshKeyId: await sshKey.id(signal) }),
    };
    try {
      const device = await withOurKey(order, signal);
      reservations.evict(reservationId);
      return { ...view.show(device), reservationId };
    } catch (error) {
      learnFrom(error, reservationId);
      throw error;
    }
  };
}

/** The server names an SSH key as what is wrong with a request, and did nothing. */
const isKeyRefused = (error: unknown): boolean =>
  isApiError(error, 'Rejected') &&
  error.status === 422 &&
  !error.ambiguous &&
  error.messages.some((text) => /ssh[ _-]?key|no such key/i.test(text));
