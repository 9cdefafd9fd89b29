import { Denied, Malformed, NotFound, UsageError } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import type { CreateRequest, Listing, Provider } from '../port.ts';
import { createEquinixClient } from './client.ts';
import { checkEquinixConfig, type EquinixConfig, HOSTNAME_ID_LENGTH } from './config.ts';
import { isEquinixError, toFleetError } from './errors.ts';
import { createExclusive } from './exclusive.ts';
import { statusOf, toFreeCapacity, toMachine } from './mapping.ts';
import { createReservationCache } from './reservation-cache.ts';
import { type Device, idOf } from './schema.ts';
import { ownershipOf } from './tags.ts';
import type { EquinixDeps } from './transport.ts';

/**
 * Bare metal of one Equinix Metal project. Shown are the devices whose hostname starts with
 * the configured prefix; ours are those that carry our owner tag and no other. Free capacity are the
 * project's available reservations. No call is made before the first one asked for.
 * @throws {UsageError} the configuration has faults; all of them are named.
 */
export function createEquinixProvider(config: EquinixConfig, deps: EquinixDeps): Provider {
  refuseFaults(config);
  const { clock, log } = deps;
  const client = createEquinixClient(config, deps);
  const exclusive = createExclusive();
  const reservations = createReservationCache(
    { timeoutMs: config.reservationCacheTimeoutMs },
    {
      clock,
      list: client.listReservations,
      onRefresh: (counts) => log.debug({ provider: config.name, ...counts }, 'reservations read'),
    },
  );
  let sshKeyId: string | null = null;

  const isManaged = ({ hostname }: Device) => hostname?.startsWith(config.devicePrefix) ?? false;
  const isOurs = ({ tags }: Device) => ownershipOf(tags, config.instanceSetId) === 'ours';

  function show(device: Device): ProviderMachine {
    if (statusOf(device.state) === 'Unknown') {
      const fields = { provider: config.name, providerId: device.id, state: device.state };
      log.warn(fields, 'device in an unknown state');
    }
    const { sshPortFromCustomdata: portFromCustomdata, instanceSetId } = config;
    return toMachine(device, { portFromCustomdata, instanceSetId, nowMs: clock.now() });
  }

  /** Reservations first: what is created in between is then shown by its device. */
  async function list(signal: AbortSignal): Promise<Listing> {
    const free = await reservations.available(signal);
    const devices = await client.listDevices(signal);
    const taken = new Set(devices.items.map((device) => idOf(device.hardware_reservation)));
    const stillFree = free.items.filter(({ id }) => !taken.has(id));
    for (const { id } of free.items) if (taken.has(id)) reservations.evict(id);
    return {
      machines: [
        ...devices.items.filter(isManaged).map(show),
        ...stillFree.map((reservation) => toFreeCapacity(reservation, clock.now())),
      ],
      complete: free.complete && devices.complete,
    };
  }

  /**
   * The API hides withdrawn devices behind 403: when the token works otherwise, that means gone.
   */
  async function getDevice(id: string, signal: AbortSignal): Promise<Device> {
    try {
      return await client.getDevice(id, signal);
    } catch (error) {
      if (!isEquinixError(error, 'Forbidden')) throw error;
      await client.listProjectSshKeys(signal);
      throw new NotFound(`device ${id} is hidden from us, so probably gone`, { cause: error });
    }
  }

  async function getManaged(id: string, signal: AbortSignal): Promise<Device> {
    const device = await getDevice(id, signal);
    if (isManaged(device)) return device;
    throw new NotFound(`device ${id} does not have our name prefix`);
  }

  /** One at a time, or two first creations would store two keys. */
  const ensureKey = (signal: AbortSignal): Promise<string> =>
    exclusive.run('ssh key', signal, async () => {
      const key = { label: config.sshKeyLabel, key: config.publicKeyLine };
      sshKeyId ??= await client.ensureSshKey(key, signal);
      return sshKeyId;
    });

  /** What a failed creation says about the things we remember. */
  function learnFrom(error: unknown, reservationId: string) {
    if (isEquinixError(error, 'RaceLost')) reservations.evict(reservationId);
    if (isEquinixError(error, 'Rejected', 'NotFound', 'Capacity')) {
      reservations.expire();
      sshKeyId = null;
    }
  }

  async function create(request: CreateRequest, signal: AbortSignal): Promise<ProviderMachine> {
    const { unused, hostname, witness } = request;
    const { reservationId } = unused;
    if (unused.availability !== 'KnownUnused' || !reservationId) {
      throw new Malformed('a creation needs free capacity of this provider');
    }
    const order = {
      reservationId,
      hostname,
      witness,
      sshKeyId: await ensureKey(signal),
      resumed: request.resumed ?? false,
      onAttempt: async (progress: { attempts: number; ambiguous: boolean }) =>
        request.onAttempt?.(progress),
    };
    try {
      const device = await client.createDevice(order, signal);
      reservations.evict(reservationId);
      return { ...show(device), reservationId };
    } catch (error) {
      learnFrom(error, reservationId);
      throw error;
    }
  }

  async function reboot(id: string, signal: AbortSignal): Promise<string> {
    const device = await getDevice(id, signal);
    if (!isManaged(device) || !isOurs(device)) {
      throw new Denied(`device ${id} is not ours by name and by owner tag`);
    }
    await client.rebootDevice(id, signal);
    return `reboot/${id}/${new Date(clock.now()).toISOString()}`;
  }

  return {
    type: 'equinix',
    capabilities: { reboot: true },
    listMachines: ({ signal }) => at('cannot list machines', () => list(signal)),
    getMachine: (id, { signal }) =>
      at(`cannot get device ${id}`, async () => show(await getManaged(id, signal))),
    createMachine: (request, { signal }) => {
      const { reservationId } = request.unused;
      return at(`cannot create a device on reservation ${reservationId}`, () =>
        exclusive.run(`reservation ${reservationId}`, signal, () => create(request, signal)),
      );
    },
    findByWitness: (witness, reservationId, { signal }) =>
      at(`cannot look for the device of witness ${witness}`, async () => {
        const device = await client.findByWitness({ witness, reservationId }, signal);
        return device && { ...show(device), reservationId };
      }),
    rebootMachine: (id, _mode, { signal }) =>
      at(`cannot reboot device ${id}`, async () => ({
        operationRef: await exclusive.run(`device ${id}`, signal, () => reboot(id, signal)),
      })),
    prepare: ({ signal }) =>
      at(`cannot put SSH key ${config.sshKeyLabel} in place`, async () => {
        await ensureKey(signal);
      }),
    hostnameFor: (slotId) => config.devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    stop: async () => client.stop(),
  };
}

function refuseFaults(config: EquinixConfig) {
  const faults = checkEquinixConfig(config).map(({ path, message }) => `${path} ${message}`);
  if (faults.length > 0) throw new UsageError(`provider ${config.name}: ${faults.join('; ')}`);
}

/** The door: whatever the client throws leaves as one of the fleet's errors. */
async function at<T>(doing: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw toFleetError(error, doing);
  }
}
