import { ProviderError } from '../../../domain/errors.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Calls } from './calls.ts';
import { chanceOf, shuffled, uuidOf } from './chance.ts';
import type { StubDevice, StubSlot } from './device.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Faults, Occasion, Strike } from './faults.ts';
import { createGap, type RefusalDeps } from './refusals.ts';
import type { Views } from './views.ts';
import type { World } from './world.ts';

export interface ListingDeps {
  readonly world: World;
  readonly faults: Faults;
  readonly calls: Pick<Calls, 'count'>;
  readonly views: Views;
  readonly seed: number;
  /** Whether a device is shown at all. */
  isManaged(device: StubDevice): boolean;
  nowMs(): number;
}

export interface Listings {
  list(occasion: Occasion, refusal: RefusalDeps): DriverListing;
  /** Free capacity that is offered now. */
  offered(): readonly StubSlot[];
}

type Entries = readonly DriverMachine[];

/** As many earlier listings are kept, for those that are shown late. */
const KEPT_MAX = 64;
const PAGES = 3;

/** What a listing shows, and every way in which it can be wrong. */
export function createListings(deps: ListingDeps): Listings {
  const { world, faults, views, seed } = deps;
  /** What listings would have shown, latest first; the last one is how it all began. */
  const earlier: Entries[] = [world.slots().map(views.free)];
  const checkGap = createGap('list-gap', deps);

  function offered(): readonly StubSlot[] {
    const free = world
      .slots()
      .filter(({ id, broken }) => !broken && !world.onSlot(id) && isProvisionable(id));
    const coming = { operation: 'create', call: deps.calls.count('create') + 1 } as const;
    const left = faults.look(coming, 'capacity-changes');
    return left ? free.slice(0, left.amount) : free;
  }

  const isProvisionable = (reservation: string): boolean =>
    !faults.sticks('not-provisionable', { operation: 'reservation', call: 1, reservation });

  function truth(): Entries {
    const devices = world.devices().filter(deps.isManaged);
    const shown = devices.map(views.device);
    for (const { id, leaving } of devices) if (leaving) countDown(id, leaving.listings);
    return [...shown, ...offered().map(views.free)];
  }

  function countDown(id: string, listings: number) {
    world.change(id, { leaving: listings > 1 ? { listings: listings - 1 } : null });
    if (listings <= 1) world.give(id);
  }

  /** The entries of some listings ago. */
  function lagged(entries: Entries, strike: Strike | null): Entries {
    earlier.unshift(entries);
    if (earlier.length > KEPT_MAX) earlier.pop();
    return strike ? (earlier[strike.amount] ?? earlier.at(-1)!) : entries;
  }

  function wrong(occasion: Occasion, fault: FaultKind, change: (amount: number) => Entries) {
    const strike = faults.strike(occasion, fault);
    return strike ? change(strike.amount) : null;
  }

  function distorted(all: Entries, occasion: Occasion): Entries {
    const { call } = occasion;
    const as = (fault: FaultKind, change: (amount: number) => Entries) => {
      entries = wrong(occasion, fault, change) ?? entries;
    };
    let entries = all;
    as('foreign-machines', (amount) => [...entries, ...strangers(amount)]);
    as('disappears', () => withoutOne(entries, call));
    as('availability-undefined', () => forgetful(entries, call));
    as('duplicates', () => [...entries.map(outdated), ...entries]);
    as('reordering', () => shuffled(entries, seed, 'order', call));
    as('vanish-all', () => []);
    return entries;
  }

  const strangers = (amount: number): Entries =>
    Array.from({ length: amount }, (_, at) => ({
      id: uuidOf(seed, 'stranger', at),
      reservationId: uuidOf(seed, 'reservation of a stranger', at),
      availability: 'KnownUsed',
      hostname: `stranger-${at}`,
      plan: 'stranger',
      status: 'Running',
      tags: at % 2 === 0 ? { [SET_ID_TAG]: 'strng-strng-strngstrngstrng' } : { owner: 'nobody' },
    }));

  function withoutOne(entries: Entries, call: number): Entries {
    const used = entries.filter((entry) => !isFree(entry));
    const victim = used[pick(used.length, 'disappears', call)];
    return entries.filter((entry) => entry !== victim);
  }

  /** One entry does not say what it is. */
  function forgetful(entries: Entries, call: number): Entries {
    const victim = pick(entries.length, 'availability', call);
    return entries.map((entry, at) =>
      at === victim ? ({ ...entry, availability: undefined } as unknown as DriverMachine) : entry,
    );
  }

  const pick = (length: number, ...purpose: readonly (string | number)[]): number =>
    Math.floor(chanceOf(seed, ...purpose) * length);

  function pageMissing(entries: Entries, occasion: Occasion): DriverListing {
    if (faults.strike(occasion, 'page-fails')) {
      throw new ProviderError('transient', `page 2 of ${PAGES} of the listing: 503`);
    }
    const partial = faults.strike(occasion, 'partial-page');
    if (!partial) return { machines: entries, complete: true };
    const size = Math.ceil(entries.length / PAGES);
    const page = (at: number) => Math.floor(at / Math.max(1, size)) + 1;
    const machines = entries.filter((_, at) => page(at) !== partial.amount);
    return { machines, complete: false };
  }

  return {
    offered,
    list(occasion, refusal) {
      checkGap(occasion, refusal);
      const entries = lagged(truth(), faults.strike(occasion, 'list-lag'));
      return pageMissing(distorted(entries, occasion), occasion);
    },
  };
}

const isFree = ({ availability }: DriverMachine): boolean => availability === 'KnownUnused';

/** As it was before it came up: of two with one id the last counts. */
const outdated = (entry: DriverMachine): DriverMachine =>
  isFree(entry) ? { ...entry } : { ...entry, address: null, power: 'unknown' };
