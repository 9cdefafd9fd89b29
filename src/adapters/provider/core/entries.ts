import {
  PROVIDER_STATUSES,
  type ProviderMachine,
  type UnreadableEntry,
} from '../../../domain/machine.ts';
import { ownershipOf } from '../../../domain/provisioning/provider-tags.ts';
import { plainText } from '../../../lib/texts.ts';
import { TRAIT_NAMES, traitsOf } from '../../../domain/traits.ts';
import type { DriverMachine } from '../port.ts';

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u;
/** As it stands in an entry, for people; may be empty. */
const SHOWN = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{0,255}$/u;
/** Begins with no dash, which commands would take for an option. */
const USER = /^[\p{L}\p{N}_][\p{L}\p{N}_.@\\$+-]{0,63}$/u;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** What no database takes. */
const UNSTORABLE = /[^\P{Cc}\t\r\n]/u;
/** What an older system wrote where there was no id. */
const NO_ID = 'invalid';
/** `host`, `host:port`, `v6`, `[v6]` or `[v6]:port`. */
const ADDRESS =
  /^(?:\[[0-9a-fA-F:.%]+\](?::(\d{1,5}))?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.%]*|[\p{L}\p{N}_][\p{L}\p{N}_.-]*(?::(\d{1,5}))?)$/u;

type Fits = (value: unknown) => boolean;
const like =
  (pattern: RegExp): Fits =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const oneOf =
  (values: readonly unknown[]): Fits =>
  (value) =>
    values.includes(value);
const nullOr =
  (fits: Fits): Fits =>
  (value) =>
    value === null || fits(value);
const absentOr =
  (fits: Fits): Fits =>
  (value) =>
    value === undefined || fits(value);

const isName: Fits = (value) => like(PRINTABLE)(value) && value !== NO_ID;
const isAvailability = oneOf(['PossiblyUsed', 'KnownUnused', 'KnownUsed']);
const isFlag: Fits = (value) => typeof value === 'boolean';
const isController: Fits = (value) =>
  isRecord(value) && isName(value['id']) && isFlag(value['hangs']);
const isTagText: Fits = (value) =>
  typeof value === 'string' && value.isWellFormed() && !UNSTORABLE.test(value);
const isAddress: Fits = (value) => {
  const found = typeof value === 'string' && value.length <= 255 ? ADDRESS.exec(value) : null;
  const port = Number(found?.[1] ?? found?.[2] ?? 22);
  return found !== null && port >= 1 && port <= 65_535;
};

const NO_TEXT = 'no text of at most 255 printable characters';

type Field = readonly [keyof DriverMachine, Fits, string];
/** What each field must be, in the order in which it is looked at. */
const FIELDS: readonly Field[] = [
  ['availability', isAvailability, 'none of the three'],
  ['id', nullOr(isName), 'not 1 to 128 printable characters'],
  ['reservationId', nullOr(isName), 'not 1 to 128 printable characters'],
  ['plan', like(SHOWN), NO_TEXT],
  ['hostname', absentOr(nullOr(like(SHOWN))), NO_TEXT],
  ...TRAIT_NAMES.map((name): Field => [name, absentOr(nullOr(like(SHOWN))), NO_TEXT]),
  ['address', absentOr(nullOr(isAddress)), 'no host, host:port, [v6]:port'],
  ['remoteUser', absentOr(like(USER)), 'no name of a user'],
  ['failed', absentOr(isFlag), 'neither true nor false'],
  ['status', absentOr(nullOr(oneOf(PROVIDER_STATUSES))), 'none that the port knows'],
  ['power', absentOr(oneOf(['on', 'off', 'unknown'])), 'none of on, off, unknown'],
  ['controller', absentOr(isController), 'no id with whether it hangs'],
  ['hostKey', absentOr(like(BASE64)), 'no base64'],
  ['spot', absentOr(isFlag), 'neither true nor false'],
];

/** Why an entry of a driver cannot be used; null: it can. Whatever it is, looking at it is safe. */
export function faultOf(entry: unknown): string | null {
  try {
    return judge(entry);
  } catch {
    return 'it cannot be looked at';
  }
}

function judge(entry: unknown): string | null {
  if (!isRecord(entry)) return 'it is no object';
  for (const [field, fits, wrong] of FIELDS) {
    const value = entry[field];
    if (!fits(value)) return `its ${field} is ${wrong}: ${plainText(shown(value), SHOWN_MAX)}`;
  }
  const { availability, id, reservationId, tags } = entry;
  if (availability === 'KnownUsed' && id === null) return 'it is in use and has no id';
  if (id === null && reservationId === null) return 'it has neither id nor reservation id';
  return tags === undefined ? null : faultOfTags(tags);
}

function faultOfTags(tags: unknown): string | null {
  if (!isRecord(tags)) return 'its tags are no object of texts';
  const fits = Object.entries(tags).every((tag) => tag.every(isTagText));
  return fits ? null : 'a tag of it is no text, or one that cannot be kept';
}

/**
 * What is left of an entry that cannot be used: its name. Null: nobody can tell what it is about, so
 * it may be about any machine.
 */
export function remainsOf(entry: unknown, fault: string): UnreadableEntry | null {
  try {
    const { id, reservationId, availability } = (entry ?? {}) as Record<string, unknown>;
    const reservation = isName(reservationId) ? (reservationId as string) : null;
    if (isName(id)) return { id: id as string, reservationId: reservation, fault };
    const isFree = id === null && availability !== 'KnownUsed' && isAvailability(availability);
    return isFree && reservation !== null ? { id: null, reservationId: reservation, fault } : null;
  } catch {
    return null;
  }
}

const SHOWN_MAX = 80;
/** An object is not asked for its own text: that may fail, or never end. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_MAX));
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'a list' : 'an object';
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What to call an entry in a message, whatever it is. */
export function nameOfEntry(entry: unknown): string {
  try {
    const name = isRecord(entry) ? (entry['id'] ?? entry['reservationId']) : entry;
    const text = typeof name === 'string' && isRecord(entry) ? name : shown(name);
    return plainText(text, SHOWN_MAX);
  } catch {
    return 'one without a name';
  }
}

/** A driver's entry as the fleet sees it. */
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
    // Free capacity is for whoever comes first, unless it carries somebody's mark.
    ownership: availability === 'KnownUnused' && owner === 'untagged' ? 'ours' : owner,
    ...(machine.controller && { controller: { ...machine.controller } }),
    ...(machine.hostKey !== undefined && { hostKey: machine.hostKey }),
    ...(machine.sshPassword !== undefined && { sshPassword: machine.sshPassword }),
    ...(machine.spot !== undefined && { spot: machine.spot }),
    ...(machine.leavesAtMs !== undefined && { leavesAtMs: machine.leavesAtMs }),
    observedAtMs,
  };
}
