import { SET_ID_TAG } from '../../../../domain/provisioning/provider-tags.ts';
import type { DriverMachine } from '../../port.ts';
import type { BmcEntry } from '../entries.ts';
import type { Sighting } from '../machine-view.ts';
import { type Claim, machineIdOf } from './claims.ts';

/** How a machine would be shown if nobody installed it, and what was seen of it last. */
export interface Seen {
  readonly base: DriverMachine;
  readonly sighting: Sighting | null;
  readonly instanceSetId: string;
}

/** One that nobody claims; not free if it carries the mark of another fleet. */
export function shownFree({ id }: BmcEntry, { base, sighting, instanceSetId }: Seen) {
  const { hostKey: _old, ...rest } = base;
  const setId = sighting?.setId ?? null;
  const isMarked = setId !== null && setId !== instanceSetId;
  return {
    ...rest,
    id: null,
    reservationId: id,
    availability: 'KnownUnused' as const,
    status: null,
    tags: isMarked ? { [SET_ID_TAG]: setId } : {},
  };
}

/** One that is claimed, and installed or about to be. */
export function shownClaimed(claim: Claim, base: DriverMachine, sighting: Sighting | null) {
  const { result, tags, hostname } = claim;
  const setId = sighting?.setId ?? null;
  const isMarked = setId !== null && setId !== claim.set;
  const { hostKey: _old, ...rest } = base;
  const isFailed = result?.end === 'failed';
  const going = result === null ? 'Provisioning' : base.status;
  return {
    ...rest,
    id: machineIdOf(claim),
    reservationId: claim.entryId,
    availability: 'KnownUsed' as const,
    hostname,
    status: isFailed ? ('ProvisioningFailedPermanent' as const) : (going ?? 'Unknown'),
    failed: isFailed,
    tags: isMarked ? { ...tags, [SET_ID_TAG]: setId } : tags,
  };
}

/** Claimed, and its entry has left the inventory: nobody can ask its BMC. */
export function shownAway(claim: Claim): DriverMachine {
  const { entryId, place } = claim;
  const base = {
    id: entryId,
    reservationId: entryId,
    availability: 'KnownUsed' as const,
    plan: place?.plan ?? 'redfish',
    location: place?.location ?? null,
    address: null,
    power: 'unknown' as const,
    status: 'Unknown' as const,
  };
  return shownClaimed(claim, base, null);
}
