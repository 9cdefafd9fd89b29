import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Call } from '../../driver-kit/call.ts';
import { asUnknown, isLost, isNotFound, isRefused } from '../../driver-kit/errors.ts';
import type { LabelsOf, MetricsOf } from '../../metrics/port.ts';
import type { AttemptProgress, CreateRequest, DriverMachine } from '../port.ts';
import { idOf, isExpanded, type Device, type Reservation } from './api.ts';
import { isForbidden, type CreateDeviceBody, type EquinixClient } from './client.ts';
import { isManaged, ownershipOf, toApiTags, witnessTag, type DeviceView } from './device-view.ts';
import type { OurSshKey } from './our-ssh-key.ts';
import type { EquinixConfig } from './settings.ts';
import type { ReservationCache } from './stock.ts';

/** What identifies a device. */
export interface Sought {
  readonly witness: Witness;
  /** Null: search only among the tags. */
  readonly reservationId: string | null;
}

/** The device on a reservation; `hidden`: there is one, but it cannot be read. */
type Holder = Device | 'hidden' | null;

interface Sighting {
  readonly ours: Device | null;
  readonly holder: Holder;
  /** Another owner's device is there, and none of ours. */
  readonly rival: ProviderError | null;
  /** False: the search may have missed something, so an empty result proves nothing. */
  /** A device with our creation key belongs to another owner. */
  readonly isTaken: boolean;
  readonly complete: boolean;
}

/** Searches for our devices without any cache. */
export function createSearch(
  { instanceSetId }: Pick<EquinixConfig, 'instanceSetId'>,
  client: EquinixClient,
) {
  const carriesWitness = ({ witness }: Sought, { tags }: Device): boolean =>
    tags.includes(witnessTag(witness));
  /**
   * The creation key proves that we created the device, even if our owner tag was removed; but not
   * if it was replaced.
   */
  const isOurs = (sought: Sought, device: Device): boolean =>
    carriesWitness(sought, device) && ownershipOf(device.tags, instanceSetId) !== 'foreign';

  const strangerThere = (call: Call) =>
    call.error('race-lost', 'the reservation holds another device');

  /** The device on a reservation; fetched if only its reference or no tags came. */
  async function holderOf(call: Call, { device }: Reservation): Promise<Holder> {
    if (device === undefined) return null;
    if (isExpanded(device) && device.tags.length > 0) return device;
    const id = idOf(device);
    if (id === null) return null;
    return client.getDevice(call, id).catch((error: unknown) => {
      if (isNotFound(error) || isForbidden(error)) return 'hidden';
      throw error;
    });
  }

  /** Searches on the reservation and among the project's tags. */
  async function sight(call: Call, sought: Sought): Promise<Sighting> {
    const { reservationId, witness } = sought;
    const holder =
      reservationId === null
        ? null
        : await holderOf(call, await client.getReservation(call, reservationId));
    const { items, complete } =
      isDevice(holder) && carriesWitness(sought, holder)
        ? { items: [await client.getDevice(call, holder.id)], complete: true }
        : await client.listDevicesByTag(call, witnessTag(witness));
    const ours = items.find((device) => isOurs(sought, device)) ?? null;
    return { ours, holder, rival: rivalOf(), isTaken: !ours && items.length > 0, complete };

    function rivalOf() {
      if (ours) return null;
      if (items.length > 0) return call.error('race-lost', 'another owner tagged the device');
      return isDevice(holder) ? strangerThere(call) : null;
    }
  }

  return {
    isOurs,
    holderOf,
    strangerThere,
    sight,
    /** Null only if there is certainly none. @throws {ProviderError} `race-lost`, `transient`. */
    async find(call: Call, sought: Sought): Promise<Device | null> {
      const { ours, holder, rival, isTaken, complete } = await sight(call, sought);
      if (ours) return ours;
      if (rival && isTaken) throw rival;
      if (holder === 'hidden') throw call.error('transient', HIDDEN);
      if (!complete) throw call.error('transient', 'the search may have missed it');
      if (rival) throw rival;
      return null;
    },
  };
}
export type Search = ReturnType<typeof createSearch>;

const HIDDEN = 'the device on the reservation cannot be read; it may be ours';

const isDevice = (holder: Holder): holder is Device => holder !== null && holder !== 'hidden';

/** A creation and its progress. */
interface Order extends Sought {
  readonly call: Call;
  readonly reservationId: string;
  readonly request: CreateRequest;
  readonly sshKeyId: string | undefined;
  /** `attempts`: requests that may create a device; `ambiguous`: one of them may have. */
  readonly progress: { -readonly [K in keyof AttemptProgress]: AttemptProgress[K] };
}

/** The hardware, as the request names it. */
type Target = Pick<CreateDeviceBody, 'plan' | 'metro'>;
/** `adopted`: an earlier request whose reply was lost created the device. */
interface Creation {
  readonly device: Device;
  readonly outcome: 'created' | 'adopted';
}
const adopted = (device: Device): Creation => ({ device, outcome: 'adopted' });

/** How often and how long to search, in milliseconds. */
interface Patience {
  readonly delayMs: number;
  readonly gapMs: number;
  /** Minimum time from the start to the end of the last search. */
  readonly untilMs: number;
  /** Minimum number of complete searches without a result. */
  readonly looksMin: number;
}

export interface CreationDeps {
  readonly client: EquinixClient;
  readonly search: Search;
  readonly view: Pick<DeviceView, 'show'>;
  readonly sshKey: Pick<OurSshKey, 'id' | 'ensure' | 'forget'>;
  readonly reservations: ReservationCache;
  readonly metrics: MetricsOf<'equinix_create_outcomes_total'>;
}

/**
 * Creates devices, each at most once, and learns from the results. The creation key among the tags
 * distinguishes our device from others. So a lost reply is resolved by a search, never by a blind
 * retry.
 */
export function createCreation(config: EquinixConfig, deps: CreationDeps) {
  const { client, search, view, sshKey, reservations, metrics } = deps;
  const { probeGap: gapMs, settle: settleMs } = config;

  function slotOf({ unused, hostname }: CreateRequest): string {
    const { reservationId, availability } = unused;
    if (availability !== 'KnownUnused' || !reservationId) {
      throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
    }
    if (isManaged({ hostname }, config)) return reservationId;
    throw new ProviderError('invalid', `a device ${hostname} could not be identified as ours`);
  }

  function bodyFor({ request, witness, reservationId, sshKeyId }: Order, target: Target) {
    const marks = { [WITNESS_TAG]: witness, [SET_ID_TAG]: config.instanceSetId };
    return {
      hostname: request.hostname,
      ...target,
      operating_system: request.image ?? config.os,
      hardware_reservation_id: reservationId,
      tags: toApiTags({ ...request.tags, ...marks }),
      userdata: request.initCommand,
      ...(sshKeyId !== undefined && { project_ssh_keys: [sshKeyId] }),
    };
  }

  /** Searches until patience ends; then null. @throws {ProviderError} `race-lost`. */
  async function lookUntil(
    order: Order,
    { delayMs, gapMs, untilMs, looksMin }: Patience,
  ): Promise<Device | null> {
    const { call } = order;
    const startedMs = call.now();
    await call.wait(delayMs);
    for (let empty = 0; ;) {
      const { ours, rival, complete } = await search.sight(call, order);
      if (rival) throw rival;
      if (ours) return ours;
      if (complete) empty++;
      if (empty >= looksMin && call.now() - startedMs >= untilMs) return null;
      await call.wait(gapMs);
    }
  }

  /** Null after two searches without the device: then the request may be sent once more. */
  function lookBeforeRepeating(order: Order): Promise<Device | null> {
    return lookUntil(order, { delayMs: gapMs / 2, gapMs, untilMs: 0, looksMin: 2 });
  }

  /** If a repetition is refused, the lost request may have succeeded invisibly. */
  async function outlastRefusal(order: Order, cause: unknown, lostAtMs: number): Promise<Creation> {
    const { call } = order;
    const untilMs = lostAtMs + settleMs - call.now();
    const found = await lookUntil(order, { delayMs: 0, gapMs, untilMs, looksMin: 1 });
    if (found) return adopted(found);
    const what = 'refused after a lost reply, and no device was found';
    throw call.error('transient', what, { outcome: 'unknown', cause });
  }

  /** The device is known to be ours: it exists, whatever fails from here on. */
  async function adoptSeen({ call, progress }: Order, { id }: Device): Promise<Creation> {
    progress.ambiguous = true;
    return adopted(await client.getDevice(call, id));
  }

  /** The device on the reservation, or the reservation's hardware if it is empty. */
  async function preCheck(order: Order): Promise<Creation | { readonly target: Target }> {
    const { call, progress } = order;
    const reservation = await client.getReservation(call, order.reservationId);
    const holder = await search.holderOf(call, reservation);
    if (isDevice(holder) && search.isOurs(order, holder)) return adoptSeen(order, holder);
    if (holder === 'hidden' && progress.ambiguous) {
      throw call.error('invalid', 'the reservation holds a device that cannot be read');
    }
    if (holder) throw search.strangerThere(call);
    const projectId = idOf(reservation.project);
    if (projectId !== null && projectId !== config.projectId) {
      throw call.error('race-lost', 'the reservation moved to another project');
    }
    if (!reservation.provisionable || reservation.spare || reservation.need_of_service) {
      throw call.error('invalid', 'the reservation is not provisionable');
    }
    const plan = reservation.plan?.slug;
    if (plan === undefined) throw call.error('invalid', 'the reservation has no plan');
    const metro = reservation.facility?.metro?.code;
    return { target: { plan, ...(metro !== undefined && { metro }) } };
  }

  /** If the reservation is not free, the lost request may have succeeded. */
  async function resume(order: Order) {
    const lostAtMs = order.call.now();
    const found = await lookBeforeRepeating(order);
    if (found) return adopted(found);
    try {
      return await preCheck(order);
    } catch (error) {
      if (!isProviderError(error, 'invalid') && !isRefused(error)) throw error;
      return outlastRefusal(order, error, lostAtMs);
    }
  }

  function post(order: Order, target: Target): Promise<Device> {
    const { call, progress, request } = order;
    return client.postDevice(call, bodyFor(order, target), async () => {
      progress.attempts++;
      if (progress.attempts > 1 && progress.ambiguous) call.repeats('CreateDevice');
      await request.onAttempt({ ...progress });
    });
  }

  function requireAsOrdered(order: Order, device: Device): Device {
    const reservationId = idOf(device.hardware_reservation);
    const agrees =
      device.hostname === order.request.hostname &&
      search.isOurs(order, device) &&
      (reservationId === null || reservationId === order.reservationId);
    if (agrees) return device;
    const what = 'the created device differs from the order';
    throw order.call.error('transient', what, { outcome: 'unknown' });
  }

  /** A first refusal is believed; one more read shows whether another creation was faster. */
  async function explainRefusal(order: Order, refusal: ProviderError): Promise<Creation> {
    const { call, reservationId } = order;
    if (![409, 422].includes(refusal.answer?.status ?? 0)) throw refusal;
    const holder = await client
      .getReservation(call, reservationId)
      .then((reservation) => search.holderOf(call, reservation))
      .catch((error: unknown) => {
        throw isProviderError(error) && error.kind !== 'aborted' ? refusal : error;
      });
    if (!holder) throw refusal;
    if (!isDevice(holder) || !search.isOurs(order, holder)) throw search.strangerThere(call);
    return adoptSeen(order, holder);
  }

  async function settle(order: Order): Promise<Creation> {
    const { call, progress } = order;
    let lostAtMs = call.now();
    const first = progress.ambiguous ? await resume(order) : await preCheck(order);
    if ('device' in first) return first;
    for (;;) {
      const answer = await post(order, first.target).catch(ifTelling);
      if (!(answer instanceof ProviderError)) {
        return { device: requireAsOrdered(order, answer), outcome: 'created' };
      }
      if (!isLost(answer)) {
        return progress.ambiguous
          ? outlastRefusal(order, answer, lostAtMs)
          : explainRefusal(order, answer);
      }
      lostAtMs = call.now();
      progress.ambiguous = true;
      const found = await lookBeforeRepeating(order);
      if (found) return adopted(found);
    }
  }

  /** @throws {ProviderError} see `Provider.createMachine`. */
  async function makeOne(order: Order): Promise<Device> {
    let outcome: LabelsOf<'equinix_create_outcomes_total'>['outcome'] = 'rejected';
    try {
      const made = await settle(order);
      outcome = made.outcome;
      return made.device;
    } catch (error) {
      const isTold = isProviderError(error) && error.answer && error.kind !== 'race-lost';
      const told = isTold && order.progress.ambiguous ? asUnknown(error) : error;
      outcome = outcomeOf(told);
      throw told;
    } finally {
      metrics.count('equinix_create_outcomes_total', { outcome });
    }
  }

  /** Stores our key again, once, if it was removed; a missing key is no slot's fault. */
  async function withOurKey(order: Omit<Order, 'progress' | 'sshKeyId'>, signal: AbortSignal) {
    const orderWith = (sshKeyId: string | undefined): Order => {
      const progress = { attempts: 0, ambiguous: order.request.resumed };
      return { ...order, sshKeyId, progress };
    };
    if (config.useProjectKeys) return makeOne(orderWith(undefined));
    const { call } = order;
    try {
      return await makeOne(orderWith(await sshKey.id(call, signal)));
    } catch (error) {
      if (!isKeyRefused(error)) throw error;
    }
    const stored = orderWith(await sshKey.ensure(call, signal));
    return makeOne(stored).catch((cause: unknown) => {
      if (!isKeyRefused(cause)) throw cause;
      throw new ProviderError('auth', 'our SSH key is refused although it is stored', { cause });
    });
  }

  /** Updates caches after a failed creation. */
  function learnFrom(error: unknown, reservationId: string) {
    const isNo = isProviderError(error, 'invalid') || (saysNo(error) && !isForbidden(error));
    if (isNo || isProviderError(error, 'race-lost')) reservations.evict(reservationId);
    if (isNo) reservations.expire();
    if (isNo || isProviderError(error, 'auth')) sshKey.forget();
  }

  return async (
    call: Call,
    request: CreateRequest,
    { signal, witness }: { readonly signal: AbortSignal; readonly witness: Witness },
  ): Promise<DriverMachine> => {
    const reservationId = slotOf(request);
    try {
      const device = await withOurKey({ call, request, witness, reservationId }, signal);
      reservations.evict(reservationId);
      return { ...view.show(device), reservationId };
    } catch (error) {
      learnFrom(error, reservationId);
      throw error;
    }
  };
}

/** Metric of a failed creation: `unknown` if a device may exist, `rejected` if none was created. */
function outcomeOf(error: unknown): LabelsOf<'equinix_create_outcomes_total'>['outcome'] {
  if (!isProviderError(error)) return 'rejected';
  if (error.kind === 'race-lost') return 'race_lost';
  if (error.outcome === 'unknown') return 'unknown';
  return error.capacity ? 'capacity' : 'rejected';
}

/** The server refused: no device was created. */
const saysNo = (error: unknown): boolean =>
  isRefused(error) ||
  isForbidden(error) ||
  (isProviderError(error) &&
    error.outcome === 'not-done' &&
    (error.capacity !== undefined || error.answer?.status === 404));

/** Errors that end an attempt: a refusal, or a lost reply. */
function ifTelling(error: unknown): ProviderError {
  if (isProviderError(error) && (isLost(error) || saysNo(error))) return error;
  throw error;
}

/** The server refused because of an SSH key, and created nothing. */
const isKeyRefused = (error: unknown): boolean =>
  isProviderError(error) &&
  isRefused(error) &&
  error.answer?.status === 422 &&
  error.answer.messages.some((text) => /ssh[ _-]?key|no such key/i.test(text));
