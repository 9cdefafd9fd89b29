import type { EquinixConfig } from '../settings.ts';
import { ownershipOf, witnessTag } from '../tags.ts';
import type { DeviceOrder, Scene } from './device-order.ts';
import { isApiError } from '../../../http/errors.ts';
import { type Device, idOf, isExpanded, type Reservation } from './schema.ts';

/** Where a creation looks for what it may have made. */
export type Place = Pick<Scene, 'routes' | 'call'> & {
  readonly config: Pick<EquinixConfig, 'instanceSetId'>;
};
export type Sought = Pick<DeviceOrder, 'witness'> & {
  /** Null: it is looked for among the tags alone. */
  readonly reservationId: string | null;
};

/** The device on a reservation; `hidden`: there is one, but it cannot be read. */
export type Holder = Device | 'hidden' | null;

export interface Sighting {
  readonly ours: Device | null;
  readonly holder: Holder;
  /** Carries the witness and another owner's tag; then there is no `ours`. */
  readonly foreign: Device | null;
  /** False: something may have been left out, so that finding nothing proves nothing. */
  readonly complete: boolean;
}

/** Looks on the reservation and among the project's tags, past any cache. */
export async function findByWitness(place: Place, sought: Sought): Promise<Sighting> {
  const { routes, call } = place;
  const holder =
    sought.reservationId === null
      ? null
      : await holderOf(place, await routes.getReservation(sought.reservationId, call));
  const { items, complete } =
    isDevice(holder) && carriesWitness(sought, holder)
      ? { items: [await routes.getDevice(holder.id, call)], complete: true }
      : await routes.listDevicesByTag(call, witnessTag(sought.witness));
  const ours = items.find((device) => isOurs(place, sought, device)) ?? null;
  return { ours, holder, foreign: ours ? null : (items[0] ?? null), complete };
}

/**
 * The device of the witness, if it is to be seen.
 * @throws {ApiError} RaceLost: a stranger's device is there and none of ours.
 */
async function look(place: Place, sought: Sought): Promise<Pick<Sighting, 'ours' | 'complete'>> {
  const { ours, holder, foreign, complete } = await findByWitness(place, sought);
  if (!ours && foreign) throw place.call.error('RaceLost', 'another owner tagged the device');
  if (!ours && isDevice(holder)) throw strangerThere(place);
  return { ours, complete };
}

/** How often and how long `lookUntil` looks, milliseconds. */
export interface Patience {
  readonly delayMs: number;
  readonly gapMs: number;
  /** Least time from the beginning to the end of the last look. */
  readonly untilMs: number;
  /** Looks that find nothing and left nothing out. */
  readonly looksMin: number;
}

/** Looks until the device shows or patience ends; then null. @throws {ApiError} RaceLost. */
export async function lookUntil(
  place: Place,
  sought: Sought,
  { delayMs, gapMs, untilMs, looksMin }: Patience,
): Promise<Device | null> {
  const { call } = place;
  const startedMs = call.now();
  await call.wait(delayMs);
  for (let empty = 0; ;) {
    const { ours, complete } = await look(place, sought);
    if (ours) return ours;
    if (complete) empty++;
    if (empty >= looksMin && call.now() - startedMs >= untilMs) return null;
    await call.wait(gapMs);
  }
}

/** The device on a reservation, fetched when only its address came, or no tags to know it by. */
export async function holderOf({ routes, call }: Place, { device }: Reservation): Promise<Holder> {
  if (device === undefined) return null;
  if (isExpanded(device) && device.tags.length > 0) return device;
  const id = idOf(device);
  if (id === null) return null;
  return routes.getDevice(id, call).catch((error: unknown) => {
    if (isApiError(error, 'NotFound', 'Forbidden')) return 'hidden';
    throw error;
  });
}

/** The witness proves that we made it, even if our owner tag was taken away; not if replaced. */
export const isOurs = ({ config }: Place, sought: Sought, device: Device): boolean =>
  carriesWitness(sought, device) && ownershipOf(device.tags, config.instanceSetId) !== 'foreign';

const carriesWitness = ({ witness }: Sought, { tags }: Device): boolean =>
  tags.includes(witnessTag(witness));

export const isDevice = (holder: Holder): holder is Device =>
  holder !== null && holder !== 'hidden';

export const strangerThere = ({ call }: Pick<Place, 'call'>) =>
  call.error('RaceLost', 'the reservation holds another device');
