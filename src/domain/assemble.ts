import { finish, type InterruptibleWork } from '../lib/steps.ts';
import type { ConditionRow } from './conditions.ts';
import { slot as slotName, slotOf, type ProviderName, type Slot } from './ids.ts';
import type {
  HoldRow,
  IntentRow,
  MachineRow,
  Ownership,
  PenaltyRow,
  ProviderMachine,
  RequestRow,
  SlotFacts,
  UnreadableEntry,
} from './machine.ts';

/** The rows from which facts are assembled. */
export interface Rows {
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  readonly conditions: readonly ConditionRow[];
  /** Open requests. Those that concern no slot are ignored. */
  readonly requests: readonly RequestRow[];
}

/** A provider's last good listing. If `complete` is false, absence from it proves nothing. */
export interface KnownListing {
  readonly machines: readonly ProviderMachine[];
  readonly complete: boolean;
  /** Entries that exist but could not be parsed. */
  readonly unreadable?: readonly UnreadableEntry[];
}

/**
 * Merges a provider's latest listing with the one before. Keeps the old entries of slots that an
 * incomplete listing does not mention, and the old form of entries that cannot be parsed now.
 */
export function mergeListing(
  provider: ProviderName,
  before: KnownListing | undefined,
  latest: KnownListing,
): KnownListing {
  const { unreadable = [] } = latest;
  if ((latest.complete && unreadable.length === 0) || !before) return latest;
  const ids = new Set(unreadable.map(({ id }) => id));
  const slots = freeSlotsOf(provider, unreadable);
  const isUnclear = (machine: ProviderMachine): boolean =>
    machine.id === null ? slots.has(slotOf(provider, machine)) : ids.has(machine.id);
  const mentioned = new Set(latest.machines.map((machine) => slotOf(provider, machine)));
  const kept = before.machines.filter(
    (machine) =>
      !mentioned.has(slotOf(provider, machine)) && (!latest.complete || isUnclear(machine)),
  );
  return { ...latest, machines: [...kept, ...latest.machines] };
}

const freeSlotsOf = (provider: ProviderName, unreadable: readonly UnreadableEntry[]): Set<Slot> =>
  new Set(unreadable.flatMap((entry) => (entry.id === null ? slotOf(provider, entry) : [])));

const emptyDraft = (slot: Slot, provider: ProviderName) => ({
  ...{ slot, provider, free: null as ProviderMachine | null, intent: null as IntentRow | null },
  ...{ rows: NONE as readonly MachineRow[], used: NONE as readonly ProviderMachine[] },
  ...{ holds: NONE as readonly HoldRow[], penalty: null as PenaltyRow | null },
  requests: NONE as readonly RequestRow[],
  conditions: NONE as readonly ConditionRow[],
});
const NONE: readonly never[] = [];
/** Rows and devices of one slot. */
type SlotDraft = ReturnType<typeof emptyDraft>;

/** An entry of a listing with its slot. Slot names are built once, because fleets are large. */
interface ListingEntry {
  readonly slot: Slot;
  readonly device: ProviderMachine;
}
/** One provider's listing: all entries, and the slot of each device in use. */
interface Sighting {
  readonly entries: readonly ListingEntry[];
  readonly used: ReadonlyMap<string, ListingEntry>;
  readonly complete: boolean;
}
type Sightings = ReadonlyMap<ProviderName, Sighting>;

/**
 * Joins rows and listings into one set of facts per slot. Pure and total. Contradictions and
 * unreadable machines become a conflict of their slot, never an error of the whole fleet.
 * Contradictions are two machines or two devices on one slot, or a machine whose device is
 * elsewhere or is not ours. A foreign device appears only where a machine of ours should be.
 */
export const assembleFacts = (
  rows: Rows,
  listings: ReadonlyMap<ProviderName, KnownListing>,
): Map<Slot, SlotFacts> => finish(assembling(rows, listings));

/** The same as `assembleFacts`, in steps. The caller must not change the input meanwhile. */
export function* assembling(
  rows: Rows,
  listings: ReadonlyMap<ProviderName, KnownListing>,
): InterruptibleWork<Map<Slot, SlotFacts>> {
  const sightings = yield* sight(rows, listings);
  const facts = new Map<Slot, SlotFacts>();
  for (const found of (yield* draft(rows, sightings)).values()) {
    yield;
    const { slot, provider, intent, holds, penalty, conditions, requests } = found;
    const [row = null] = found.rows;
    const sighting = sightings.get(provider);
    facts.set(slot, {
      slot,
      provider,
      row,
      listed: deviceOf(row, found) ?? found.free,
      listingComplete: sighting?.complete ?? false,
      intent,
      holds,
      penalty,
      conditions,
      requests,
      conflict: conflictOf(found, sighting),
    });
  }
  return facts;
}

function* sight(
  rows: Rows,
  listings: ReadonlyMap<ProviderName, KnownListing>,
): InterruptibleWork<Sightings> {
  const known = new Map<ProviderName, Set<string>>();
  for (const provider of listings.keys()) known.set(provider, new Set());
  for (const { provided } of rows.machines) {
    yield;
    if (provided) known.get(provided.provider)?.add(provided.providerId);
  }
  const sightings = new Map<ProviderName, Sighting>();
  for (const [provider, { machines, complete }] of listings) {
    const entries: ListingEntry[] = [];
    const used = new Map<string, ListingEntry>();
    for (const device of machines) {
      yield;
      const entry = { slot: slotOf(provider, device), device };
      entries.push(entry);
      const { id } = device;
      if (id !== null && isUsed(device, known.get(provider)!.has(id))) used.set(id, entry);
    }
    sightings.set(provider, { entries, used, complete });
  }
  return sightings;
}

function* draft(rows: Rows, sightings: Sightings): InterruptibleWork<Map<Slot, SlotDraft>> {
  const drafts = new Map<Slot, SlotDraft>();
  const at = (slot: Slot, provider: ProviderName): SlotDraft => {
    const found = drafts.get(slot) ?? emptyDraft(slot, provider);
    drafts.set(slot, found);
    return found;
  };
  const known = (row: HoldRow | PenaltyRow | ConditionRow) =>
    drafts.get(slotName(row.provider, row.slotId));
  for (const row of rows.machines) {
    yield;
    if (!row.provided) continue;
    const { provider, providerId, reservationId } = row.provided;
    const found = at(slotOf(provider, { reservationId, id: providerId }), provider);
    found.rows = [...found.rows, row];
  }
  for (const intent of rows.intents) {
    at(slotName(intent.provider, intent.slotId), intent.provider).intent = intent;
  }
  for (const [provider, sighting] of sightings) {
    yield* draftListed(
      sighting,
      (slot) => drafts.get(slot),
      (slot) => at(slot, provider),
    );
  }
  for (const hold of rows.holds) {
    const found = known(hold);
    if (found) found.holds = [...found.holds, hold];
  }
  for (const condition of rows.conditions) {
    const found = known(condition);
    if (found) found.conditions = [...found.conditions, condition];
  }
  for (const penalty of rows.penalties) Object.assign(known(penalty) ?? {}, { penalty });
  for (const [slot, requests] of requestsBySlot(rows.requests)) {
    const found = drafts.get(slot);
    if (found) found.requests = requests;
  }
  return drafts;
}

/** Open requests by slot, oldest first. Leaves out requests about the fleet or a whole provider. */
export const requestsBySlot = (requests: readonly RequestRow[]): Map<Slot, RequestRow[]> =>
  Map.groupBy(
    requests
      .filter(({ provider, slotId }) => provider !== null && slotId !== null)
      .toSorted((a, b) => a.createdAtMs - b.createdAtMs),
    ({ provider, slotId }) => slotName(provider!, slotId!),
  );

function* draftListed(
  { entries, used }: Sighting,
  known: (slot: Slot) => SlotDraft | undefined,
  at: (slot: Slot) => SlotDraft,
): InterruptibleWork<void> {
  const covered = new Set<Slot>();
  for (const { slot } of used.values()) covered.add(slot);
  for (const { slot, device } of entries) {
    yield;
    if (device.id !== null && used.has(device.id)) {
      const isClaimed = (known(slot)?.rows.length ?? 0) > 0;
      if (!isClaimed && device.ownership === 'foreign') continue;
      const found = at(slot);
      found.used = [...found.used, device];
    } else if (device.ownership === 'ours' && !covered.has(slot)) {
      at(slot).free = device;
    }
  }
}

/** Inventories do not show usage: an entry counts as used if a machine row has its id. */
const isUsed = ({ availability }: ProviderMachine, known: boolean): boolean =>
  availability === 'KnownUsed' || (availability === 'PossiblyUsed' && known);

const deviceOf = (row: MachineRow | null, { used }: SlotDraft): ProviderMachine | null =>
  used.find((device) => device.id === row?.provided?.providerId) ?? used[0] ?? null;

function conflictOf(
  { slot, rows, used }: SlotDraft,
  sighting: Sighting | undefined,
): string | null {
  const unreadable = rows.find((row) => row.unreadable !== undefined)?.unreadable;
  if (unreadable !== undefined) return unreadable;
  if (rows.length > 1) {
    return `machines ${rows.map((row) => row.machineId).join(' and ')} claim this slot`;
  }
  const provided = rows[0]?.provided;
  const own = provided && sighting?.used.get(provided.providerId);
  if (own && own.device.ownership !== 'ours') {
    return `device ${provided.providerId} of this machine ${NOT_OURS[own.device.ownership]}`;
  }
  if (used.length > 1) {
    return `devices ${used.map((device) => device.id).join(' and ')} are on this slot`;
  }
  if (!provided) return null;
  if (own && own.slot !== slot) {
    return `device ${provided.providerId} of this machine is listed on ${own.slot}`;
  }
  return used[0] && used[0].id !== provided.providerId
    ? `device ${used[0].id} is on this slot, the machine's is ${provided.providerId}`
    : null;
}

const NOT_OURS: Readonly<Record<Exclude<Ownership, 'ours'>, string>> = {
  foreign: 'carries the tag of another owner',
  untagged: 'carries no owner tag',
};
