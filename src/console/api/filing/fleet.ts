import type { Slot } from '../../../domain/ids.ts';
import { namesOf, type Entry, type NamedFleet } from '../../../domain/filing/named-fleet.ts';
import type { FleetView, MachineEntry } from '../../port.ts';

type Known = Pick<FleetView, 'entries' | 'facts'>;

/**
 * The fleet that this daemon knows, as names are looked up in it: in the states that are shown. What
 * is made of its entries is made while they are walked through, so nothing is kept of a large fleet.
 */
export function namedFleet(fleet: Known, providers: readonly string[]): NamedFleet {
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

function* inOrder(fleet: Known): Generator<Entry> {
  for (const slot of [...fleet.entries.keys()].toSorted()) {
    const entry = entryOf(fleet, slot);
    if (entry) yield entry;
  }
}

/** Of a slot that several machines claim only one row is known, and `facts.conflict` tells of it. */
function entryOf({ entries, facts: factsOf }: Known, slot: Slot): Entry | undefined {
  const shown = entries.get(slot);
  const facts = factsOf(slot);
  if (!shown || !facts) return undefined;
  const { view, state, substate } = shown;
  return { view: { ...view, state, substate }, facts, rows: facts.row ? [facts.row] : [] };
}
