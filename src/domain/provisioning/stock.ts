import { byBytes, sortedByBytes } from '../../lib/data.ts';
import type { ProviderName } from '../ids.ts';
import type { IntentRow, MachineRow, ProviderMachine } from '../machine.ts';
import { witnessOf } from './provider-tags.ts';

/** What a listing and the rows of one provider say together, each thing looked up once. */
export interface Stock {
  /** Machines of this provider. */
  readonly rows: readonly Recorded[];
  /** Slots that a machine of the BMDB is on, of those that are free or under a device of nobody's. */
  readonly rowSlots: ReadonlySet<string>;
  readonly intents: readonly IntentRow[];
  readonly intentByWitness: ReadonlyMap<string, IntentRow>;
  readonly intentBySlot: ReadonlyMap<string, IntentRow>;
  /** Devices in use, whosever. */
  readonly used: readonly Used[];
  /** Intents whose device is listed. */
  readonly deviceByWitness: ReadonlyMap<string, ProviderMachine>;
  /** Free capacity of ours under no device, in byte order of device id and slot id. */
  readonly free: readonly FreeSlot[];
}

/** A machine of the BMDB, and its device if that is listed. */
export interface Recorded {
  readonly row: MachineRow;
  readonly device: ProviderMachine | null;
}
/** A device in use, and its machine if that is in the BMDB. */
export interface Used {
  readonly device: ProviderMachine;
  readonly row: MachineRow | null;
}
export interface FreeSlot {
  readonly slotId: string;
  readonly unused: ProviderMachine;
}

interface StockInput {
  readonly provider: ProviderName;
  readonly listed: readonly ProviderMachine[];
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
}

/**
 * A machine of an inventory whose controller has answered lately: it is taken in at once, and does not wait
 * for those whose controllers are slow or have not answered yet.
 */
export const isReadAlready = ({ availability, power }: ProviderMachine): boolean =>
  availability === 'PossiblyUsed' && power !== 'unknown';

export const slotIdOfMachine = ({ reservationId, id }: ProviderMachine): string =>
  reservationId ?? id ?? '';
export const slotIdOfRow = ({ provided }: MachineRow): string =>
  provided === null ? '' : (provided.reservationId ?? provided.providerId);

/**
 * Sorts a provider's things out. One pass over each; cost per machine does not grow: of what there
 * are many, one index is made, and the others hold only what may be asked for.
 */
export function takeStock({ provider, listed, machines, intents }: StockInput): Stock {
  const rows = machines
    .filter((row) => row.provided?.provider === provider)
    .map((row): Tracked => ({ row, device: null }));
  const { used, unused } = resolve(listed, rows);
  const free = freeSlots(unused, used);
  const own = intents.filter((intent) => intent.provider === provider);
  const intentByWitness = new Map<string, IntentRow>(own.map((each) => [each.witness, each]));
  return {
    rows,
    rowSlots: slotsOfRows(rows, used, free),
    intents: own,
    intentByWitness,
    intentBySlot: new Map(own.map((each) => [each.slotId, each])),
    used,
    deviceByWitness: witnessed(used, intentByWitness),
    free: inOrder(free),
  };
}

type Tracked = { -readonly [Key in keyof Recorded]: Recorded[Key] };

/**
 * Tells what is in use, and joins each device with its machine. A stateless provider cannot tell:
 * its entry is in use if the BMDB has a machine of that id.
 */
function resolve(listed: readonly ProviderMachine[], rows: readonly Tracked[]) {
  const byId = new Map(rows.map((tracked) => [tracked.row.provided!.providerId, tracked]));
  const used: Used[] = [];
  const unused: ProviderMachine[] = [];
  for (const device of listed) {
    const { availability, id } = device;
    const known = id === null || availability === 'KnownUnused' ? undefined : byId.get(id);
    const isUsed = id !== null && (availability === 'KnownUsed' || known !== undefined);
    if (!isUsed) {
      unused.push(device);
      continue;
    }
    if (known) known.device = device;
    used.push({ device, row: known?.row ?? null });
  }
  return { used, unused };
}

/** Free capacity of ours that no device in use covers, by slot. */
function freeSlots(
  unused: readonly ProviderMachine[],
  used: readonly Used[],
): Map<string, FreeSlot> {
  const bySlot = new Map<string, FreeSlot>();
  for (const machine of unused) {
    const slotId = slotIdOfMachine(machine);
    if (slotId !== '' && machine.ownership === 'ours') {
      bySlot.set(slotId, { slotId, unused: machine });
    }
  }
  if (bySlot.size > 0) for (const { device } of used) bySlot.delete(slotIdOfMachine(device));
  return bySlot;
}

/** By device id, then slot id; free capacity mostly has no device id. */
function inOrder(free: ReadonlyMap<string, FreeSlot>): FreeSlot[] {
  const all = [...free.values()];
  if (all.every(({ unused }) => unused.id === null)) {
    return sortedByBytes([...free.keys()]).map((slotId) => free.get(slotId)!);
  }
  return all.sort(
    (a, b) => byBytes(a.unused.id ?? '', b.unused.id ?? '') || byBytes(a.slotId, b.slotId),
  );
}

function slotsOfRows(
  rows: readonly Recorded[],
  used: readonly Used[],
  free: ReadonlyMap<string, FreeSlot>,
): Set<string> {
  const unknown = used.filter(({ row }) => row === null);
  const asked = new Set([...free.keys(), ...unknown.map(({ device }) => slotIdOfMachine(device))]);
  const found = new Set<string>();
  if (asked.size === 0) return found;
  for (const { row } of rows) {
    const slotId = slotIdOfRow(row);
    if (asked.has(slotId)) found.add(slotId);
  }
  return found;
}

function witnessed(
  used: readonly Used[],
  intents: ReadonlyMap<string, IntentRow>,
): Map<string, ProviderMachine> {
  const found = new Map<string, ProviderMachine>();
  if (intents.size === 0) return found;
  for (const { device } of used) {
    const witness = witnessOf(device);
    if (witness !== null && intents.has(witness)) found.set(witness, device);
  }
  return found;
}
