import {
  namesOf,
  type NamedFleet,
  type NamedSlot,
} from '../../../domain/submission/named-fleet.ts';
import type { Slot } from '../../../domain/ids.ts';
import type { FleetView, MachineEntry } from '../../port.ts';

type KnownFleet = Pick<FleetView, 'entries' | 'facts'>;

/**
 * The fleet as this daemon knows it, for look-ups by name, in the states shown. Entries are made
 * during the walk, so that nothing of a large fleet is kept.
 */
export function namedFleet(fleet: KnownFleet, providers: readonly string[]): NamedFleet {
  const { entries } = fleet;
  return {
    entries: { [Symbol.iterator]: () => inOrder(fleet) },
    bySlot: { get: (slot) => entryOf(fleet, slot) },
    machine: (id) => {
      for (const { view } of entries.values()) {
        if (view.machineId === id) return fleet.facts(view.slot)?.row ?? null;
      }
      return null;
    },
    providers: namesOf([...providers, ...providersOf(entries)]),
  };
}

function providersOf(entries: ReadonlyMap<Slot, MachineEntry>): Set<string> {
  const names = new Set<string>();
  for (const { view } of entries.values()) names.add(view.provider);
  return names;
}

function* inOrder(fleet: KnownFleet): Generator<NamedSlot> {
  for (const slot of [...fleet.entries.keys()].toSorted()) {
    const entry = entryOf(fleet, slot);
    if (entry) yield entry;
  }
}

/** If several machines claim a slot, only one row is known, and `facts.conflict` reports it. */
function entryOf({ entries, facts: factsOf }: KnownFleet, slot: Slot): NamedSlot | undefined {
  const shown = entries.get(slot);
  const facts = factsOf(slot);
  if (!shown || !facts) return undefined;
  const { view, state, substate } = shown;
  return { view: { ...view, state, substate }, facts, rows: facts.row ? [facts.row] : [] };
}
