import type { DriverListing, DriverMachine } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { SET_ID_TAG, type Tags } from '../../../src/domain/provisioning/provider-tags.ts';
import type { DeviceFaultKind, FaultKind, FaultScript, Occasion } from './faults.ts';
import type { SimulatedDevice, Slot, HardwareWorld } from './world.ts';

export interface ListingDeps {
  readonly world: HardwareWorld;
  readonly faults: FaultScript;
  /** Whether a device is shown at all. */
  isManaged(device: SimulatedDevice): boolean;
}

type Entries = readonly DriverMachine[];

/** Number of earlier listings to keep, for late ones. */
const KEPT_MAX = 64;
const PAGES = 3;

/** The provider's view of devices and capacity, with all its faults. */
export function createListings({ world, faults, isManaged }: ListingDeps) {
  /** Past contents of listings, latest first; the last is the initial state. */
  const earlier: Entries[] = [world.slots().map(showFree)];

  /** A read. Each read brings stale tags closer to their end. */
  function show(device: SimulatedDevice): DriverMachine {
    const { id, reservationId, hostname, plan, failed, status } = device;
    return {
      ...{ id, reservationId, hostname, failed, status },
      availability: 'KnownUsed',
      plan: plan.name,
      location: plan.location,
      spot: plan.spot,
      address: addressOf(device),
      power: powerOf(device),
      tags: tagsOf(device),
      ...(device.conditions && { conditions: device.conditions }),
    };
  }

  function addressOf({ id, number, addresses }: SimulatedDevice): string | null {
    const [own = null] = addresses;
    const isShown = (fault: DeviceFaultKind) => faults.isShown(fault, id);
    if (own === null || isShown('address-absent')) return null;
    if (isShown('address-v6-only')) return `2001:db8::${number.toString(16)}`;
    if (!isShown('address-duplicated')) return own;
    const other = world.devices().find((each) => each.id !== id && each.addresses.length > 0);
    return other?.addresses[0] ?? own;
  }

  function powerOf({ id, power, boots, status }: SimulatedDevice): 'on' | 'off' | 'unknown' {
    if (boots === 0 && status === 'Provisioning') return 'unknown';
    if (!faults.isShown('power-lies', id)) return power;
    return power === 'on' ? 'off' : 'on';
  }

  function tagsOf({ id, tags, stale }: SimulatedDevice): Tags {
    if (!stale) return tags;
    world.change(id, { stale: stale.left > 1 ? { ...stale, left: stale.left - 1 } : null });
    return stale.tags;
  }

  function truth(): Entries {
    const devices = world.devices().filter(isManaged);
    const shown = devices.map(show);
    for (const { id, leaving } of devices) if (leaving) countDown(id, leaving.listings);
    return [...shown, ...world.free().map(showFree)];
  }

  function countDown(id: string, listings: number) {
    world.change(id, { leaving: listings > 1 ? { listings: listings - 1 } : null });
    if (listings <= 1) world.give(id);
  }

  function distorted(all: Entries, occasion: Occasion): Entries {
    const { call } = occasion;
    let entries = all;
    const amountOf = (fault: FaultKind) => faults.strike(occasion, fault)?.amount ?? null;
    const strangers = amountOf('foreign-machines');
    if (strangers !== null) entries = [...entries, ...strangersOf(strangers)];
    if (amountOf('disappears') !== null) entries = withoutOne(entries, call);
    if (amountOf('availability-undefined') !== null) entries = forgetful(entries, call);
    if (amountOf('duplicates') !== null) entries = [...entries.map(outdated), ...entries];
    if (amountOf('reordering') !== null) entries = entries.toReversed();
    return amountOf('vanish-all') === null ? entries : [];
  }

  return {
    show,
    list(occasion: Occasion): DriverListing {
      const now = truth();
      earlier.unshift(now);
      if (earlier.length > KEPT_MAX) earlier.pop();
      const lag = faults.strike(occasion, 'list-lag');
      const entries = distorted(lag ? (earlier[lag.amount] ?? earlier.at(-1)!) : now, occasion);
      if (faults.strike(occasion, 'page-fails')) {
        throw new ProviderError('transient', `page 2 of ${PAGES} of the listing: 503`);
      }
      const partial = faults.strike(occasion, 'partial-page');
      if (!partial) return { machines: entries, complete: true };
      const size = Math.max(1, Math.ceil(entries.length / PAGES));
      const isThere = (at: number) => Math.floor(at / size) + 1 !== partial.amount;
      return { machines: entries.filter((_, at) => isThere(at)), complete: false };
    },
  };
}

const showFree = ({ id, plan }: Slot): DriverMachine => ({
  id: null,
  reservationId: id,
  availability: 'KnownUnused',
  plan: plan.name,
  location: plan.location,
  spot: plan.spot,
});

const isFree = ({ availability }: DriverMachine): boolean => availability === 'KnownUnused';

const strangersOf = (count: number): Entries =>
  Array.from({ length: count }, (_, at) => ({
    id: `stranger-${at}`,
    reservationId: `reservation of stranger-${at}`,
    availability: 'KnownUsed',
    hostname: `stranger-${at}`,
    plan: 'stranger',
    status: 'Running',
    tags: at % 2 === 0 ? { [SET_ID_TAG]: 'strng-strng-strngstrngstrng' } : { owner: 'nobody' },
  }));

/** A different device is missing at each call. */
function withoutOne(entries: Entries, call: number): Entries {
  const used = entries.filter((entry) => !isFree(entry));
  const victim = used[call % used.length];
  return entries.filter((entry) => entry !== victim);
}

function forgetful(entries: Entries, call: number): Entries {
  return entries.map((entry, at) =>
    at === call % entries.length
      ? ({ ...entry, availability: undefined } as unknown as DriverMachine)
      : entry,
  );
}

/** The device before its boot. Of two entries with one id the last counts. */
const outdated = (entry: DriverMachine): DriverMachine =>
  isFree(entry) ? { ...entry } : { ...entry, address: null, power: 'unknown' };
