import { UsageError } from '../errors.ts';
import { slotOf, type Slot } from '../ids.ts';
import type { MachineRow, SlotFacts } from '../machine.ts';
import { printable } from '../../lib/texts.ts';
import { wantedTraits, type TraitFilter } from '../traits.ts';
import type { MachineView } from '../view.ts';

/** The machines of a fleet, as people name them when they ask for something. */

/** One slot with what is known of it. */
export interface Entry {
  /** In the words of the page, as far as whoever reads it knows. */
  readonly view: MachineView;
  readonly facts: SlotFacts;
  /** Machines that claim the slot; more than one is a conflict. */
  readonly rows: readonly MachineRow[];
}

/** Where a name is looked up. */
export interface NamedFleet {
  /** In the order of their slots. */
  readonly entries: Iterable<Entry>;
  readonly bySlot: { get(slot: Slot): Entry | undefined };
  /** Null: there is none of this id. */
  readonly machine: (id: string) => MachineRow | null;
  /** Names of those that are configured, or of which something is recorded. */
  readonly providers: readonly string[];
}

/** Each once, in their order. */
export const namesOf = (names: Iterable<string>): string[] => [...new Set(names)].toSorted();

/** @throws {UsageError} neither is one of that name configured, nor is anything recorded of it. */
export function requireProvider({ providers }: Pick<NamedFleet, 'providers'>, name: string): void {
  if (!providers.includes(name)) throw unknownName('provider', name, providers);
}

/** @throws {UsageError} nothing is recorded that has what the filter names. */
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

/** Where a machine is; null: no hardware is recorded. */
export const slotOfRow = ({ provided }: MachineRow): Slot | null =>
  provided &&
  slotOf(provided.provider, { reservationId: provided.reservationId, id: provided.providerId });
