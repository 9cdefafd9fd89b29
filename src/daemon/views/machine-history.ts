import type { BmdbInspection } from '../../adapters/bmdb/inspection-port.ts';
import type { MachineHistory } from '../../console/views.ts';
import { providerOf, slotIdOf, type MachineId, type Slot } from '../../domain/ids.ts';

/** The history of machines from the database. @param presentOn machines now on a slot. */
export const createMachineHistory = (
  inspection: Pick<BmdbInspection, 'slotHistory' | 'events' | 'history'>,
  presentOn: (slot: Slot) => MachineId | null,
): MachineHistory => ({
  ofSlot({ slot, before, limit }, signal) {
    const present = presentOn(slot);
    const query = { provider: providerOf(slot), slotId: slotIdOf(slot), before, limit };
    return inspection.slotHistory({ ...query, present: present === null ? [] : [present] }, signal);
  },
  async ofMachine({ machineId, limit }, signal) {
    const events = await inspection.events({ machineId, limit }, signal);
    return { events, work: await inspection.history(machineId, signal) };
  },
});
