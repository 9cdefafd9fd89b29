import { providerOf, slot, slotIdOf, type Slot } from '../../../src/domain/ids.ts';
import type { EventLine, EventQuery } from '../../../src/adapters/bmdb/port.ts';
import type { Memory } from './tables.ts';

/** See `BmdbInspection.events`. */
export function eventsOf({ events }: Memory, query: EventQuery): EventLine[] {
  const isMeant =
    'machineId' in query
      ? (line: EventLine) => line.machineId === query.machineId
      : (line: EventLine) =>
          slot(line.provider, line.slotId) === slot(query.provider, query.slotId);
  const lines = events.map((event, at): EventLine => {
    const name = event.slot as Slot;
    const { slot: _, ...rest } = event;
    return { ...rest, seq: String(at + 1), provider: providerOf(name), slotId: slotIdOf(name) };
  });
  const found = lines.filter(isMeant);
  return found.slice(Math.max(0, found.length - query.limit));
}
