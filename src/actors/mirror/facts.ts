import type { BmdbSurroundings } from '../../adapters/bmdb/port.ts';
import { requestsBySlot, type KnownListing } from '../../domain/assemble.ts';
import type { ProviderName, Slot } from '../../domain/ids.ts';
import type {
  GuardRow,
  MachineRow,
  ProviderMachine,
  RequestRow,
  SlotFacts,
} from '../../domain/machine.ts';
import { sameData } from '../../lib/data.ts';
import type { Steps } from '../../lib/steps.ts';
import { TRAIT_NAMES } from '../../domain/traits.ts';
import type { MachineView } from '../../domain/view.ts';

/** Slots whose facts say something else than before. */
export function* changedFacts(
  before: ReadonlyMap<Slot, SlotFacts>,
  after: ReadonlyMap<Slot, SlotFacts>,
): Steps<Slot[]> {
  const changed: Slot[] = [];
  for (const [slot, facts] of after) {
    yield;
    const known = before.get(slot);
    if (!known || !sameFacts(known, facts)) changed.push(slot);
  }
  return changed;
}

/** Rows, intents and the like keep their objects as long as they are equal; devices do not. */
const sameFacts = (a: SlotFacts, b: SlotFacts): boolean =>
  a.row === b.row &&
  a.intent === b.intent &&
  a.penalty === b.penalty &&
  a.conflict === b.conflict &&
  a.listingComplete === b.listingComplete &&
  sameDevice(a.listed, b.listed) &&
  sameItems(a.holds, b.holds) &&
  sameItems(a.requests, b.requests);

/** Whether both hold the same objects. */
export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, at) => item === b[at]);

/** Whether a listing tells nothing but that everything was seen again. */
export const sameListing = (a: KnownListing | undefined, b: KnownListing): boolean =>
  a !== undefined &&
  a.complete === b.complete &&
  sameData(a.unreadable ?? [], b.unreadable ?? []) &&
  a.machines.length === b.machines.length &&
  a.machines.every((machine, at) => sameDevice(machine, b.machines[at]!));

/** When a device was seen is no part of what it is. */
const sameDevice = (a: ProviderMachine | null, b: ProviderMachine | null): boolean =>
  a === b || (a !== null && b !== null && sameData({ ...a, observedAtMs: b.observedAtMs }, b));

/**
 * The facts with a newer row of the same machine; null: this may concern other slots too, so all
 * have to be assembled again.
 */
export function withRow(facts: SlotFacts | undefined, row: MachineRow | null): SlotFacts | null {
  const before = facts?.row;
  if (!facts || !before || !row || before.machineId !== row.machineId) return null;
  const [was, is] = [before.provided, row.provided];
  const isSamePlace =
    was?.provider === is?.provider &&
    was?.providerId === is?.providerId &&
    was?.reservationId === is?.reservationId;
  return isSamePlace && before.unreadable === row.unreadable ? { ...facts, row } : null;
}

/** What is read whole each time, as far as facts rest on it. */
export type Around = Pick<BmdbSurroundings, 'intents' | 'holds' | 'penalties'>;
export const NOTHING_AROUND: Around = { intents: [], holds: [], penalties: [] };

/** `after`, but equal entries keep their old objects; `before` itself when nothing changed. */
export function keepEqual(before: Around, after: Around): Around {
  const intents = keep(before.intents, after.intents, ({ witness }) => witness);
  const holds = keep(before.holds, after.holds, (hold) =>
    [hold.provider, hold.slotId, hold.kind].join(' '),
  );
  const penalties = keep(before.penalties, after.penalties, ({ provider, slotId }) =>
    [provider, slotId].join(' '),
  );
  const isSame =
    intents === before.intents && holds === before.holds && penalties === before.penalties;
  return isSame ? before : { intents, holds, penalties };
}

/** The same for the guard's rows. */
export const keepGuard = (before: readonly GuardRow[], after: readonly GuardRow[]) =>
  keep(before, after, ({ scope }) => scope);

/** The same for what operators ask, which facts of single slots rest on. */
export const keepRequests = (before: readonly RequestRow[], after: readonly RequestRow[]) =>
  keep(before, after, ({ key }) => key);

/** Facts of those slots about which something else is asked than before. */
export function withRequests(
  facts: ReadonlyMap<Slot, SlotFacts>,
  before: readonly RequestRow[],
  after: readonly RequestRow[],
): SlotFacts[] {
  const now = requestsBySlot(after);
  const slots = new Set([...requestsBySlot(before).keys(), ...now.keys()]);
  return [...slots].flatMap((slot) => {
    const known = facts.get(slot);
    const requests = now.get(slot) ?? [];
    return known && !sameItems(known.requests, requests) ? [{ ...known, requests }] : [];
  });
}

function keep<T>(before: readonly T[], after: readonly T[], keyOf: (item: T) => string) {
  const known = new Map(before.map((item) => [keyOf(item), item]));
  const kept = after.map((item) => {
    const same = known.get(keyOf(item));
    return same !== undefined && sameData(same, item) ? same : item;
  });
  const olds = new Set(before);
  const isSame = kept.length === before.length && kept.every((item) => olds.has(item));
  return isSame ? before : kept;
}

/** Facts of a slot that nothing refers to any more. */
export const nothingOf = (
  slot: Slot,
  provider: ProviderName,
  listingComplete: boolean,
): SlotFacts => ({
  slot,
  provider,
  listed: null,
  listingComplete,
  row: null,
  intent: null,
  holds: [],
  penalty: null,
  requests: [],
  conflict: null,
});

/** Whether two views say the same, apart from when something was heard or is due. */
export const sameButTimes = (a: MachineView, b: MachineView): boolean =>
  a.state === b.state &&
  a.substate === b.substate &&
  a.next === b.next &&
  a.request === b.request &&
  a.reason === b.reason &&
  a.endedBy === b.endedBy &&
  a.needsHuman === b.needsHuman &&
  a.machineId === b.machineId &&
  a.providerId === b.providerId &&
  a.address === b.address &&
  TRAIT_NAMES.every((name) => a[name] === b[name]) &&
  a.holds.length === b.holds.length &&
  a.holds.every((hold, at) => hold === b.holds[at]);
