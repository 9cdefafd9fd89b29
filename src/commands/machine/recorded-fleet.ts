import type { BmdbSnapshot } from '../../adapters/bmdb/port.ts';
import { assembleFacts } from '../../domain/assemble.ts';
import { slotOf, type Slot } from '../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../domain/machine.ts';
import { UsageError } from '../../domain/errors.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { wantedTraits, type TraitFilter } from '../../domain/traits.ts';
import { viewOf, type MachineView } from '../../domain/view.ts';
import { printable } from '../text-table.ts';

/** One slot that the BMDB records a machine or an unsettled creation of. */
export interface Entry {
  /** In the words of the page, as far as rows alone tell: no provider is asked. */
  readonly view: MachineView;
  readonly facts: SlotFacts;
  /** Machines that claim the slot; more than one is a conflict. */
  readonly rows: readonly MachineRow[];
}

/** The fleet as the BMDB alone tells it. */
export interface RecordedFleet {
  readonly read: BmdbSnapshot;
  readonly loss: LossPolicy;
  /** In the order of their slots. */
  readonly entries: readonly Entry[];
  readonly bySlot: ReadonlyMap<Slot, Entry>;
  /** Machines of which no hardware is recorded, and which so have no slot. */
  readonly bare: readonly MachineRow[];
  /** Names of those that are configured, or of which something is recorded. */
  readonly providers: readonly string[];
}

export interface RecordedFleetPolicy {
  readonly loss: LossPolicy;
  /** Those that are configured. */
  readonly providers: ReadonlySet<string>;
}

/** Joins a snapshot into what is true of each slot. */
export function recordedFleet(
  read: BmdbSnapshot,
  { loss, providers }: RecordedFleetPolicy,
): RecordedFleet {
  const rows = Map.groupBy(
    read.machines.filter(({ provided }) => provided !== null),
    (row) => slotOfRow(row)!,
  );
  const moment = { nowMs: read.nowMs, loss, providers };
  const entries = [...assembleFacts(read, new Map()).values()].map((facts): Entry => ({
    view: viewOf(facts, moment),
    facts,
    rows: rows.get(facts.slot) ?? [],
  }));
  return {
    read,
    loss,
    entries: entries.toSorted((a, b) => slotOrder(a.view, b.view)),
    bySlot: new Map(entries.map((entry) => [entry.view.slot, entry])),
    bare: read.machines.filter(({ provided }) => provided === null),
    providers: namesOf([...providers, ...entries.map(({ view }) => view.provider)]),
  };
}

const namesOf = (names: readonly string[]): string[] => [...new Set(names)].toSorted();

/** @throws {UsageError} neither is one of that name configured, nor is anything recorded of it. */
export function requireProvider(
  { providers }: Pick<RecordedFleet, 'providers'>,
  name: string,
): void {
  if (!providers.includes(name)) throw unknownName('provider', name, providers);
}

/** @throws {UsageError} nothing is recorded that has what the filter names. */
export function requireTraits(
  { entries }: Pick<RecordedFleet, 'entries'>,
  filter: TraitFilter,
): void {
  for (const [trait, name] of wantedTraits(filter)) {
    const known = namesOf(entries.flatMap(({ view }) => view[trait] ?? []));
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

/** Nothing will be done about it until somebody decides: see `docs/operating.md`. */
export const needsHuman = ({ view, facts }: Pick<Entry, 'view' | 'facts'>): boolean =>
  (view.state === 'Quarantined' && view.substate !== 'byOperator') ||
  (view.state === 'Provisioned' && view.substate === 'failed') ||
  facts.intent?.state === 'unresolved';

const slotOrder = (a: MachineView, b: MachineView): number =>
  a.slot < b.slot ? -1 : Number(a.slot > b.slot);
