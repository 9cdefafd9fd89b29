import type { SlotHistory, HistoryCut, HistoryLine, EventLine } from '../adapters/bmdb/port.ts';
import type { MachineId, Slot } from '../domain/ids.ts';

/** What happened to machines, as it was written down. */
export interface MachineHistory {
  /** Of a slot and of all machines that were on it, newest first. @throws {Unreachable} */
  ofSlot(
    query: { readonly slot: Slot; readonly before: HistoryCut | null; readonly limit: number },
    signal: AbortSignal,
  ): Promise<SlotHistory>;
  /** Of one machine, there or gone; the latest lines, oldest first. @throws {Unreachable} */
  ofMachine(
    query: { readonly machineId: MachineId; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{ readonly events: readonly EventLine[]; readonly work: readonly HistoryLine[] }>;
}

/** Nothing is known to have happened. */
export const NO_HISTORY: MachineHistory = {
  ofSlot: async () => ({ lines: [], next: null, tenants: [] }),
  ofMachine: async () => ({ events: [], work: [] }),
};
