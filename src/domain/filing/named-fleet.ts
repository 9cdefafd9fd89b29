import { UsageError } from '../errors.ts';
import { slotOf, type Slot } from '../ids.ts';
import type { MachineRow, SlotFacts } from '../machine.ts';
import { printable } from '../../lib/texts.ts';
import { wantedTraits, type TraitFilter } from '../traits.ts';
import type { MachineView } from '../view.ts';

/** The machines of a fleet, found by the names that people use in requests. */

/** One slot and the known facts about it. */
export interface Entry {
  /** The view as the page shows it, as far as this process knows. */
  readonly view: MachineView;
  readonly facts: SlotFacts;
  /** Machine rows that claim the slot; more than one is a conflict. */
  readonly rows: readonly MachineRow[];
}

/** Looks up names. */
export interface NamedFleet {
  /** Sorted by slot. */
  readonly entries: Iterable<Entry>;
  readonly bySlot: { get(slot: Slot): Entry | undefined };
  /** Null: no machine has this id. */
  readonly machine: (id: string) => MachineRow | null;
  /** Names of providers that are configured or appear in records. */
  readonly providers: readonly string[];
}

/** Removes duplicates and sorts. */
export const namesOf = (names: Iterable<string>): string[] => [...new Set(names)].toSorted();

/** @throws {UsageError} the provider is neither configured nor recorded. */
export function requireProvider({ providers }: Pick<NamedFleet, 'providers'>, name: string): void {
  if (!providers.includes(name)) throw unknownName('provider', name, providers);
}

/** @throws {UsageError} no record matches the filter. */
export function requireTraits({ entries }: Pick<NamedFleet, 'entries'>, filter: TraitFilter): void {
  for (const [trait, name] of wantedTraits(filter)) {
    const known = namesOf([...entries].flatMap(({ view }) => view[trait] ?? []));
    if (!known.includes(name)) throw unknownName(trait, name, known);
  }
}

const unknownName = (what: string, name: string, known: readonly string[]): UsageError =>
  new UsageError(
    `no ${what} is named ${printable(name)}; there is ${known.map(printable).join(', ') || 'none'}`,
  );

/** A machine's slot; null: no hardware is recorded. */
export const slotOfRow = ({ provided }: MachineRow): Slot | null =>
  provided &&
  slotOf(provided.provider, { reservationId: provided.reservationId, id: provided.providerId });
