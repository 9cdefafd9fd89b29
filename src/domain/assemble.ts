import { providerOf, slot as slotName, slotOf, type ProviderName, type Slot } from './ids.ts';
import type {
  HoldRow,
  IntentRow,
  MachineRow,
  Ownership,
  PenaltyRow,
  ProviderMachine,
  SlotFacts,
} from './machine.ts';

/** The rows that facts are assembled from. */
export interface Rows {
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
}

/** A provider's last good listing. `complete` false: nothing follows from absence. */
export interface KnownListing {
  readonly machines: readonly ProviderMachine[];
  readonly complete: boolean;
}

/**
 * What a provider's latest listing tells, given the one before: nothing follows from what a listing
 * with gaps leaves out, so the entries of slots that it does not mention are kept.
 */
export function mergeListing(
  provider: ProviderName,
  before: KnownListing | undefined,
  latest: KnownListing,
): KnownListing {
  if (latest.complete || !before) return latest;
  const mentioned = new Set(latest.machines.map((machine) => slotOf(provider, machine)));
  const kept = before.machines.filter((machine) => !mentioned.has(slotOf(provider, machine)));
  return { machines: [...kept, ...latest.machines], complete: false };
}

interface Draft {
  readonly rows: MachineRow[];
  readonly used: ProviderMachine[];
  free: ProviderMachine | null;
  intent: IntentRow | null;
  readonly holds: HoldRow[];
  penalty: PenaltyRow | null;
}

/** Where a device in use was listed, by provider and device id. */
type Sightings = ReadonlyMap<string, { readonly slot: Slot; readonly device: ProviderMachine }>;

/**
 * Joins rows and listings into one set of facts per slot. Pure and total: contradictions (two
 * machines or two devices on one slot, a machine whose device sits elsewhere or is not ours) become
 * a conflict of the slot concerned, never an error of the whole. A foreign device is seen only where
 * a machine of ours should be.
 */
export function assembleFacts(
  rows: Rows,
  listings: ReadonlyMap<ProviderName, KnownListing>,
): Map<Slot, SlotFacts> {
  const sightings = sight(rows, listings);
  const drafts = draft(rows, listings, sightings);
  const facts = new Map<Slot, SlotFacts>();
  for (const [name, found] of drafts) {
    const provider = providerOf(name);
    const [row = null] = found.rows;
    facts.set(name, {
      slot: name,
      provider,
      row,
      listed: deviceOf(row, found) ?? found.free,
      listingComplete: listings.get(provider)?.complete ?? false,
      intent: found.intent,
      holds: found.holds,
      penalty: found.penalty,
      conflict: conflictOf(name, found, sightings),
    });
  }
  return facts;
}

function sight(rows: Rows, listings: ReadonlyMap<ProviderName, KnownListing>): Sightings {
  const known = new Set<string>();
  for (const { provided } of rows.machines) {
    if (provided) known.add(slotName(provided.provider, provided.providerId));
  }
  const sightings = new Map<string, { slot: Slot; device: ProviderMachine }>();
  for (const [provider, { machines }] of listings) {
    for (const device of machines) {
      const name = slotName(provider, device.id ?? '');
      if (!isUsed(device, known.has(name))) continue;
      sightings.set(name, { slot: slotOf(provider, device), device });
    }
  }
  return sightings;
}

function draft(
  rows: Rows,
  listings: ReadonlyMap<ProviderName, KnownListing>,
  sightings: Sightings,
): Map<Slot, Draft> {
  const drafts = new Map<Slot, Draft>();
  const at = (name: Slot): Draft => {
    let found = drafts.get(name);
    if (!found) {
      found = { rows: [], used: [], free: null, intent: null, holds: [], penalty: null };
      drafts.set(name, found);
    }
    return found;
  };
  for (const row of rows.machines) {
    if (!row.provided) continue;
    const { provider, providerId, reservationId } = row.provided;
    at(slotOf(provider, { reservationId, id: providerId })).rows.push(row);
  }
  for (const intent of rows.intents) at(slotName(intent.provider, intent.slotId)).intent = intent;
  const covered = new Set([...sightings.values()].map(({ slot }) => slot));
  for (const [provider, listing] of listings) {
    for (const machine of listing.machines) {
      const name = slotOf(provider, machine);
      const used = sightings.has(slotName(provider, machine.id ?? ''));
      const claimed = (drafts.get(name)?.rows.length ?? 0) > 0;
      if (used && (claimed || machine.ownership !== 'foreign')) at(name).used.push(machine);
      if (!used && machine.ownership === 'ours' && !covered.has(name)) at(name).free = machine;
    }
  }
  for (const hold of rows.holds) {
    drafts.get(slotName(hold.provider, hold.slotId))?.holds.push(hold);
  }
  for (const penalty of rows.penalties) {
    const found = drafts.get(slotName(penalty.provider, penalty.slotId));
    if (found) found.penalty = penalty;
  }
  return drafts;
}

/** A stateless inventory cannot tell: its entry is used if a machine row has its id. */
const isUsed = ({ id, availability }: ProviderMachine, known: boolean): boolean =>
  id !== null && (availability === 'KnownUsed' || (availability === 'PossiblyUsed' && known));

const deviceOf = (row: MachineRow | null, { used }: Draft): ProviderMachine | null =>
  used.find((device) => device.id === row?.provided?.providerId) ?? used[0] ?? null;

function conflictOf(name: Slot, { rows, used }: Draft, sightings: Sightings): string | null {
  if (rows.length > 1) {
    return `machines ${rows.map((row) => row.machineId).join(' and ')} claim this slot`;
  }
  const provided = rows[0]?.provided;
  const own = provided && sightings.get(slotName(provided.provider, provided.providerId));
  if (own && own.device.ownership !== 'ours') {
    return `device ${provided.providerId} of this machine ${NOT_OURS[own.device.ownership]}`;
  }
  if (used.length > 1) {
    return `devices ${used.map((device) => device.id).join(' and ')} are on this slot`;
  }
  if (!provided) return null;
  if (own && own.slot !== name) {
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
