import { byBytes } from '../../lib/data.ts';
import type { ProviderName } from '../ids.ts';
import type { IntentRow, MachineRow, ProviderMachine } from '../machine.ts';
import { witnessOf } from './provider-tags.ts';

/** One provider's listing and rows, joined and indexed. */
export interface Stock {
  /** Machines of this provider. */
  readonly rows: readonly Recorded[];
  /** Slots of machines in the BMDB. */
  readonly rowSlots: ReadonlySet<string>;
  readonly intents: readonly IntentRow[];
  readonly intentByWitness: ReadonlyMap<string, IntentRow>;
  readonly intentBySlot: ReadonlyMap<string, IntentRow>;
  /** Devices in use, of any owner. */
  readonly used: readonly Used[];
  /** Creation keys of the listed devices. */
  readonly witnesses: ReadonlySet<string>;
  /** Free capacity of ours without a device, in byte order of device id and slot id. */
  readonly free: readonly FreeSlot[];
}

/** A machine of the BMDB, with its device if that is listed. */
export interface Recorded {
  readonly row: MachineRow;
  readonly device: ProviderMachine | null;
}
/** A device in use, with its machine if that is in the BMDB. */
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
 * An inventory machine whose controller answered recently: it is recorded at once, without a wait
 * for slow or silent controllers.
 */
export const isReadAlready = ({ availability, power }: ProviderMachine): boolean =>
  availability === 'PossiblyUsed' && power !== 'unknown';

export const slotIdOfMachine = ({ reservationId, id }: ProviderMachine): string =>
  reservationId ?? id ?? '';
export const slotIdOfRow = ({ provided }: MachineRow): string =>
  provided === null ? '' : (provided.reservationId ?? provided.providerId);

/** Joins a provider's listing and rows in one pass over each; cost per machine stays constant. */
export function takeStock({ provider, listed, machines, intents }: StockInput): Stock {
  const rows = machines
    .filter((row) => row.provided?.provider === provider)
    .map((row): Tracked => ({ row, device: null }));
  const { used, unused } = resolve(listed, rows);
  const own = intents.filter((intent) => intent.provider === provider);
  return {
    rows,
    rowSlots: new Set(rows.map(({ row }) => slotIdOfRow(row))),
    intents: own,
    intentByWitness: new Map(own.map((each) => [each.witness, each])),
    intentBySlot: new Map(own.map((each) => [each.slotId, each])),
    used,
    witnesses: new Set(used.flatMap(({ device }) => witnessOf(device) ?? [])),
    free: freeSlots(unused, used),
  };
}

type Tracked = { -readonly [Key in keyof Recorded]: Recorded[Key] };

/**
 * Finds the entries in use, and joins each device with its machine. A stateless provider does not
 * show use: its entry is in use if the BMDB has a machine with its id.
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

/** Free capacity of ours that no used device covers, by device id, then slot id. */
function freeSlots(unused: readonly ProviderMachine[], used: readonly Used[]): FreeSlot[] {
  const bySlot = new Map<string, FreeSlot>();
  for (const machine of unused) {
    const slotId = slotIdOfMachine(machine);
    if (slotId !== '' && machine.ownership === 'ours') {
      bySlot.set(slotId, { slotId, unused: machine });
    }
  }
  for (const { device } of used) bySlot.delete(slotIdOfMachine(device));
  return [...bySlot.values()].sort(
    (a, b) => byBytes(a.unused.id ?? '', b.unused.id ?? '') || byBytes(a.slotId, b.slotId),
  );
}
