import type { BmdbSnapshot } from '../../adapters/bmdb/port.ts';
import { assembleFacts } from '../../domain/assemble.ts';
import type { Slot } from '../../domain/ids.ts';
import {
  namesOf,
  slotOfRow,
  type Entry,
  type NamedFleet,
} from '../../domain/filing/named-fleet.ts';
import type { MachineRow } from '../../domain/machine.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { viewOf, type MachineView } from '../../domain/view.ts';

/** The fleet as the BMDB alone tells it. */
export interface RecordedFleet extends NamedFleet {
  readonly read: BmdbSnapshot;
  readonly loss: LossPolicy;
  /** In the order of their slots. */
  readonly entries: readonly Entry[];
  readonly bySlot: ReadonlyMap<Slot, Entry>;
  /** Machines of which no hardware is recorded, and which so have no slot. */
  readonly bare: readonly MachineRow[];
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
    machine: (id) => read.machines.find(({ machineId }) => machineId === id) ?? null,
    bare: read.machines.filter(({ provided }) => provided === null),
    providers: namesOf([...providers, ...entries.map(({ view }) => view.provider)]),
  };
}

const slotOrder = (a: MachineView, b: MachineView): number =>
  a.slot < b.slot ? -1 : Number(a.slot > b.slot);
