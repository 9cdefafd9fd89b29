import { ProviderError, isProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import type { Clock } from '../../clock/port.ts';
import { isApiError } from '../../driver-kit/errors.ts';
import { fingerprintOfLine, isSameKey } from '../../driver-kit/our-key.ts';
import { createLocks } from '../../driver-kit/time-limit.ts';
import type { Log } from '../../log/port.ts';
import type {
  DriverContext,
  SweepReport,
  CallOptions,
  CreateRequest,
  DriverMachine,
} from '../port.ts';
import type { SshKey, Device } from './api.ts';
import type { EquinixClient } from './client.ts';
import type { DeviceOrder } from './create-device.ts';
import { isManaged, toApiTags, type DeviceView } from './device-view.ts';
import type { EquinixConfig } from './settings.ts';
import type { ReservationCache } from './stock.ts';

const BELIEVED_MS = 24 * 3_600_000;
const SWEPT_AGE_MS = 3_600_000;

interface OurSshKeyDeps extends Pick<DriverContext, 'tellEvent'> {
  readonly client: EquinixClient;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
}

/** The one key of ours at the provider, known by its label. */
export function createOurSshKey(
  config: EquinixConfig,
  { client, clock, log, tellEvent = () => undefined }: OurSshKeyDeps,
) {
  const { sshKeyLabel: label } = config;
  const locks = createLocks();
  let known: { readonly id: string; readonly key: string; readonly untilMs: number } | null = null;

  async function store(signal: AbortSignal): Promise<string> {
    const key = config.publicKeyLine;
    const { previousKeyLines: previousKeys = [] } = config;
    const onReplaced = (previous: string) => {
      const [from, to] = [previous, key].map(fingerprintOfLine) as [string, string];
      log.warn(
        { provider: config.name, label, from, to },
        'an earlier SSH key of ours was replaced',
      );
      const reason = `our SSH key ${label} was renewed: ${to} replaced ${from}`;
      tellEvent({ type: 'provider.ssh_key_replaced', reason, details: { name: label, from, to } });
    };
    const wanted = { label, key, previousKeys, onReplaced };
    const id = await client.ensureSshKey(wanted, signal);
    known = { id, key, untilMs: clock.monotonic() + BELIEVED_MS };
    return id;
  }
  /** One at a time, or two first creations would store two keys. */
  const alone = (signal: AbortSignal, task: () => Promise<string>): Promise<string> =>
    locks.alone('ssh key', signal, { what: 'our SSH key was being put in place', task });

  return {
    /** Looks whether it is there and stores it if not. */
    ensure: (signal: AbortSignal): Promise<string> => alone(signal, () => store(signal)),
    /** Its id. It is looked at again after a day, or when it was forgotten or changed. */
    id: (signal: AbortSignal): Promise<string> =>
      alone(signal, async () =>
        known && known.key === config.publicKeyLine && clock.monotonic() < known.untilMs
          ? known.id
          : store(signal),
      ),
    /** Something speaks against it: the next `id` looks for itself. */
    forget: (): void => void (known = null),
    /** Removes further copies of it, which would make its label ambiguous. */
    async sweep(
      { dryRun }: { readonly dryRun: boolean },
      signal: AbortSignal,
    ): Promise<SweepReport> {
      const keys = await client.listProjectSshKeys(signal);
      const copies = keys.filter(
        (each) => each.label === label && isSameKey(each.key, config.publicKeyLine),
      );
      const spare = copies.sort(byAge).slice(1);
      const old = spare.filter((each) => createdAtMs(each) <= clock.now() - SWEPT_AGE_MS);
      if (dryRun || old.length === 0) return removed(old);
      for (const { id } of old) await client.deleteSshKey(id, signal);
      // That a key is not known may be a proxy's word; what is still listed was not removed.
      const left = new Set((await client.listProjectSshKeys(signal)).map(({ id }) => id));
      return removed(old.filter(({ id }) => !left.has(id)));
    },
  };
}
export type OurSshKey = ReturnType<typeof createOurSshKey>;

const removed = (keys: readonly SshKey[]): SweepReport => ({
  removed: keys.map(({ id }) => ({ kind: 'ssh-key', id })),
});

/** The oldest first: it is the one that devices were made with. Unknown ages count as young. */
const byAge = (one: SshKey, other: SshKey): number =>
  createdAtMs(one) - createdAtMs(other) || (one.id < other.id ? -1 : 1);
const createdAtMs = ({ created_at: at = '' }: SshKey): number => {
  const parsed = Date.parse(at);
  return Number.isNaN(parsed) ? Number.MAX_SAFE_INTEGER : parsed;
};

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
