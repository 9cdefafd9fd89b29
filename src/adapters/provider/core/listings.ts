import { ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import type { Log } from '../../log/port.ts';
import type { DriverListing, DriverMachine, Listing } from '../port.ts';
import { faultOf, nameOfEntry, toProviderMachine } from './entries.ts';

export interface ListingsDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly log: Log;
}

const FAULTS_SHOWN = 5;

/**
 * Makes a listing of what a driver answered: what cannot be used is dropped with an alarm, of two
 * entries of one machine the last counts, and what is in use is not offered as free.
 */
export function createListings({ name, instanceSetId, log }: ListingsDeps) {
  let strangersTold = false;

  /**
   * @param observedAtMs when the driver was asked.
   * @throws {ProviderError} `permanent`: it is no listing at all.
   */
  function listingOf(answer: DriverListing, observedAtMs: number): Listing {
    const { entries, complete } = requireListing(answer);
    const byName = new Map<string, ProviderMachine>();
    const faults: string[] = [];
    for (const entry of entries) {
      const fault = faultOf(entry);
      if (fault !== null) {
        faults.push(`${nameOfEntry(entry)}: ${fault}`);
        continue;
      }
      const machine = toProviderMachine(entry, { instanceSetId, observedAtMs });
      const key = machine.id === null ? `free ${machine.reservationId}` : `id ${machine.id}`;
      byName.delete(key);
      byName.set(key, machine);
    }
    tellFaults(faults);
    const listing = {
      machines: withoutTaken([...byName.values()]),
      complete: complete && faults.length === 0,
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

function requireListing(answer: unknown): { entries: DriverMachine[]; complete: boolean } {
  const { machines, complete } = (answer ?? {}) as { machines?: unknown; complete?: unknown };
  if (Array.isArray(machines)) return { entries: machines, complete: complete === true };
  throw new ProviderError('permanent', 'the driver answered with no listing');
}

/** Free capacity on which a machine stands is not free, whosever the machine is. */
function withoutTaken(machines: readonly ProviderMachine[]): ProviderMachine[] {
  const taken = new Set<string>();
  for (const { availability, reservationId } of machines) {
    if (availability !== 'KnownUnused' && reservationId !== null) taken.add(reservationId);
  }
  return machines.filter(
    ({ availability, reservationId }) =>
      availability !== 'KnownUnused' || reservationId === null || !taken.has(reservationId),
  );
}
