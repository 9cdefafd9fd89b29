import { ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import type { ProviderMachine, UnreadableEntry } from '../../../domain/machine.ts';
import { plainText } from '../../../lib/texts.ts';
import type { Log } from '../../log/port.ts';
import type { DriverListing, DriverMachine, Listing } from '../port.ts';
import { faultOf, nameOfEntry, remainsOf, toProviderMachine } from './entries.ts';

export interface ListingsDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly log: Log;
}

const FAULTS_SHOWN = 5;
const FAULT_MAX = 300;

/**
 * Makes a listing of what a driver answered. Entries are judged one by one: one that cannot be used
 * is told with an alarm and spoils no other; only one that shows no name leaves the listing
 * incomplete. Of two entries of one machine the last counts, and what is in use is not offered as
 * free.
 */
export function createListings({ name, instanceSetId, log }: ListingsDeps) {
  let strangersTold = false;

  /**
   * @param observedAtMs when the driver was asked.
   * @throws {ProviderError} `permanent`: it is no listing at all.
   */
  function listingOf(answer: DriverListing, observedAtMs: number): Listing {
    const { entries, complete, unreadable: told } = requireListing(answer);
    const byName = new Map<string, ProviderMachine>();
    const faults: string[] = [];
    const remains: (UnreadableEntry | null)[] = [];
    const setAside = (entry: unknown, fault: string) => {
      faults.push(`${nameOfEntry(entry)}: ${fault}`);
      remains.push(remainsOf(entry, fault));
    };
    for (const entry of told) setAside(...unreadableOf(entry));
    for (const entry of entries) {
      const fault = faultOf(entry);
      if (fault !== null) {
        setAside(entry, fault);
        continue;
      }
      const machine = toProviderMachine(entry, { instanceSetId, observedAtMs });
      const key = machine.id === null ? `free ${machine.reservationId}` : `id ${machine.id}`;
      byName.delete(key);
      byName.set(key, machine);
    }
    tellFaults(faults);
    const unreadable = remains.filter((entry) => entry !== null);
    const listing: Listing = {
      machines: withoutTaken([...byName.values()], unreadable),
      complete: complete && unreadable.length === remains.length,
      ...(unreadable.length > 0 && { unreadable }),
    };
    tellStrangers(listing);
    return listing;
  }

  /** One line, however many there are. */
  function tellFaults(faults: readonly string[]): void {
    if (faults.length === 0) return;
    const fields = {
      provider: name,
      dropped: faults.length,
      faults: faults.slice(0, FAULTS_SHOWN),
    };
    log.error(fields, 'entries of the listing cannot be used');
  }

  /** Once: whoever shares the account is no news. */
  function tellStrangers({ machines, complete }: Listing): void {
    if (strangersTold || !complete) return;
    strangersTold = true;
    const number = (ownership: ProviderMachine['ownership']) =>
      machines.filter((machine) => machine.ownership === ownership).length;
    const fields = { provider: name, foreign: number('foreign'), untagged: number('untagged') };
    if (fields.foreign + fields.untagged === 0) return;
    log.info(fields, 'there are machines that are not ours; they are left alone');
  }

  return { listingOf };
}

function requireListing(answer: unknown) {
  const { machines, complete, unreadable = [] } = (answer ?? {}) as Record<string, unknown>;
  if (Array.isArray(machines) && Array.isArray(unreadable)) {
    const entries = machines as DriverMachine[];
    return { entries, complete: complete === true, unreadable: unreadable as unknown[] };
  }
  throw new ProviderError('permanent', 'the driver answered with no listing');
}

/** What a driver says of an entry that it could not read itself: its name counts as any other. */
function unreadableOf(told: unknown): [entry: unknown, fault: string] {
  const { id, reservationId, fault } = (told ?? {}) as Record<string, unknown>;
  const isFree = id === null && { availability: 'KnownUnused' };
  const why = typeof fault === 'string' ? plainText(fault, FAULT_MAX) : 'it cannot be read';
  return [{ id, reservationId, ...isFree }, why];
}

/** Free capacity on which something stands is not free, whosever and whatever that is. */
function withoutTaken(
  machines: readonly ProviderMachine[],
  unreadable: readonly UnreadableEntry[],
): ProviderMachine[] {
  const taken = new Set(unreadable.map(({ reservationId }) => reservationId));
  for (const { availability, reservationId } of machines) {
    if (availability !== 'KnownUnused' && reservationId !== null) taken.add(reservationId);
  }
  return machines.filter(
    ({ availability, reservationId }) =>
      availability !== 'KnownUnused' || reservationId === null || !taken.has(reservationId),
  );
}
