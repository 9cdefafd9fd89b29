import { checkedConditions } from '../../domain/conditions.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { ProviderMachine, UnreadableEntry } from '../../domain/machine.ts';
import { ownershipOf } from '../../domain/provisioning/provider-tags.ts';
import { plainText } from '../../lib/texts.ts';
import { TRAIT_NAMES, traitsOf, type Traits } from '../../domain/traits.ts';
import type { Log } from '../log/port.ts';
import type { DriverMachine, DriverListing, Listing } from '../provider/port.ts';

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u;
/** Text for people; may be empty. */
const SHOWN = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{0,255}$/u;
/** Does not begin with a dash, which commands would read as an option. */
const USER = /^[\p{L}\p{N}_][\p{L}\p{N}_.@\\$+-]{0,63}$/u;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Characters that databases reject. */
const UNSTORABLE = /[^\P{Cc}\t\r\n]/u;
/** An older system's value for a missing id. */
const NO_ID = 'invalid';
/** `host`, `host:port`, `v6`, `[v6]` or `[v6]:port`. */
const ADDRESS =
  /^(?:\[[0-9a-fA-F:.%]+\](?::(\d{1,5}))?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.%]*|[\p{L}\p{N}_][\p{L}\p{N}_.-]*(?::(\d{1,5}))?)$/u;

const isName = (value: string): boolean => PRINTABLE.test(value) && value !== NO_ID;
const isShown = (value: string): boolean => SHOWN.test(value);
const isTagText = (value: string): boolean => value.isWellFormed() && !UNSTORABLE.test(value);
const isAddress = (value: string): boolean => {
  const found = value.length <= 255 ? ADDRESS.exec(value) : null;
  const port = Number(found?.[1] ?? found?.[2] ?? 22);
  return found !== null && port >= 1 && port <= 65_535;
};

const NO_NAME = 'not 1 to 128 printable characters';
const NO_TEXT = 'not a text of at most 255 printable characters';

type TextField = 'id' | 'reservationId' | 'plan' | 'hostname' | 'address' | keyof Traits;
/** Format of each text, in the order of checks: vendors' data is unchecked. */
const FIELDS: readonly (readonly [
  TextField | 'remoteUser' | 'hostKey',
  (value: string) => boolean,
  string,
])[] = [
  ['id', isName, NO_NAME],
  ['reservationId', isName, NO_NAME],
  ...(['plan', 'hostname', ...TRAIT_NAMES] as const).map(
    (name) => [name, isShown, NO_TEXT] as const,
  ),
  ['address', isAddress, 'no host, host:port, [v6]:port'],
  ['remoteUser', (value) => USER.test(value), 'not a user name'],
  ['hostKey', (value) => BASE64.test(value), 'no base64'],
];

/** Why a driver's entry is unusable; null if it is usable. */
export function faultOf(entry: DriverMachine): string | null {
  for (const [field, fits, wrong] of FIELDS) {
    const value = entry[field] ?? null;
    if (value !== null && !fits(value)) {
      return `its ${field} is ${wrong}: ${plainText(JSON.stringify(value.slice(0, SHOWN_MAX)), SHOWN_MAX)}`;
    }
  }
  const { availability, id, reservationId, tags = {} } = entry;
  if (availability === 'KnownUsed' && id === null) return 'it is in use, but has no id';
  if (id === null && reservationId === null) return 'it has neither id nor reservation id';
  const fits = Object.entries(tags).every((tag) => tag.every(isTagText));
  return fits ? null : 'one of its tags is not a text, or cannot be stored';
}

/** Name of an unusable entry. Null: it is unidentifiable, so it may be about any machine. */
export function remainsOf(
  {
    id,
    reservationId,
    availability,
  }: Pick<DriverMachine, 'id' | 'reservationId'> & Partial<DriverMachine>,
  fault: string,
): UnreadableEntry | null {
  const reservation = reservationId !== null && isName(reservationId) ? reservationId : null;
  if (id !== null) return isName(id) ? { id, reservationId: reservation, fault } : null;
  return availability !== 'KnownUsed' && reservation !== null
    ? { id, reservationId: reservation, fault }
    : null;
}

const SHOWN_MAX = 80;
/** Name of an entry for messages. */
export const nameOfEntry = ({ id, reservationId }: Pick<DriverMachine, 'id' | 'reservationId'>) =>
  plainText(id ?? reservationId ?? 'one without a name', SHOWN_MAX);

/** A driver's entry in the fleet's form. */
export function toProviderMachine(
  machine: DriverMachine,
  { instanceSetId, observedAtMs }: { instanceSetId: string; observedAtMs: number },
): ProviderMachine {
  const { availability, tags = {}, failed = false } = machine;
  const usual = availability === 'KnownUnused' ? null : 'Unknown';
  const owner = ownershipOf(tags, instanceSetId);
  return {
    id: machine.id,
    reservationId: machine.reservationId,
    hostname: machine.hostname ?? null,
    plan: machine.plan,
    ...traitsOf(machine),
    address: machine.address ?? null,
    remoteUser: machine.remoteUser ?? 'root',
    availability,
    failed,
    status: machine.status ?? (failed ? 'ProvisioningFailedPermanent' : usual),
    power: machine.power ?? 'unknown',
    tags,
    // Free capacity belongs to whoever comes first, unless it carries an owner's mark.
    ownership: availability === 'KnownUnused' && owner === 'untagged' ? 'ours' : owner,
    ...(machine.controller && { controller: { ...machine.controller } }),
    ...(machine.lacks && { lacks: [...machine.lacks] }),
    ...(machine.hostKey !== undefined && { hostKey: machine.hostKey }),
    ...(machine.sshPassword !== undefined && { sshPassword: machine.sshPassword }),
    ...(machine.spot !== undefined && { spot: machine.spot }),
    ...(machine.leavesAtMs !== undefined && { leavesAtMs: machine.leavesAtMs }),
    ...(machine.conditions && { conditions: checkedConditions(machine.conditions).conditions }),
    observedAtMs,
  };
}

export interface ListingsDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly log: Log;
}

const FAULTS_SHOWN = 5;
const FAULT_MAX = 300;

/**
 * Converts a driver's answer into a listing. Each entry is checked separately: an unusable one
 * raises an alarm and does not affect others. Only an unidentifiable entry makes the listing
 * incomplete. Of two entries for one machine the last counts, and capacity in use is not offered as
 * free.
 */
export function createListings({ name, instanceSetId, log }: ListingsDeps) {
  let strangersTold = false;

  /** @param observedAtMs when the driver was called. */
  function listingOf(answer: DriverListing, observedAtMs: number): Listing {
    const { machines: entries, complete, unreadable: told = [] } = answer;
    const byName = new Map<string, ProviderMachine>();
    const faults: string[] = [];
    const remains: (UnreadableEntry | null)[] = [];
    const setAside = (entry: Parameters<typeof remainsOf>[0], fault: string) => {
      faults.push(`${nameOfEntry(entry)}: ${fault}`);
      remains.push(remainsOf(entry, fault));
    };
    for (const entry of told) setAside(entry, plainText(entry.fault, FAULT_MAX));
    for (const entry of entries) {
      const fault = faultOf(entry);
      if (fault !== null) {
        setAside(entry, fault);
        continue;
      }
      const { dropped } = checkedConditions(entry.conditions ?? []);
      if (dropped > 0)
        faults.push(`${nameOfEntry(entry)}: ${dropped} of its conditions are unusable`);
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

  /** One log line, however many faults there are. */
  function tellFaults(faults: readonly string[]): void {
    if (faults.length === 0) return;
    const fields = {
      provider: name,
      dropped: faults.length,
      faults: faults.slice(0, FAULTS_SHOWN),
    };
    log.error(fields, 'entries of the listing are unusable');
  }

  /** Logged once: other users of the account are not news. */
  function tellStrangers({ machines, complete }: Listing): void {
    if (strangersTold || !complete) return;
    strangersTold = true;
    const number = (ownership: ProviderMachine['ownership']) =>
      machines.filter((machine) => machine.ownership === ownership).length;
    const fields = { provider: name, foreign: number('foreign'), untagged: number('untagged') };
    if (fields.foreign + fields.untagged === 0) return;
    log.info(fields, 'some machines are not ours and are left alone');
  }

  return { listingOf };
}

/** Free capacity with anything on it is not free, whoever owns that. */
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
