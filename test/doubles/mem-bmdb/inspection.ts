import { byProcess } from '../../../src/domain/statistics.ts';
import { statisticsOf } from './statistics.ts';
import type { Counts, StatisticsPart } from '../../../src/domain/statistics.ts';
import { episodesSince } from './episodes.ts';
import { historyOf } from './records.ts';
import { circumstances, rowsOf } from './rows.ts';
import { slotHistoryOf } from './slot-history.ts';
import { sessionsOf } from './sessions.ts';
import type { Memory } from './tables.ts';
import type { BmdbInspection, EventLine, EventQuery } from '../../../src/adapters/bmdb/port.ts';
import { providerOf, slot, slotIdOf, type Slot } from '../../../src/domain/ids.ts';

/** See `BmdbInspection`. Memory has no tables for people, so stored machines are missing. */
export function createInspection(memory: Memory): BmdbInspection {
  return {
    statistics: async (_, only) => {
      const { fleet, providers } = statisticsOf(rowsOf(memory), circumstances(memory));
      const part = (counts: Counts) => partOf(counts, only);
      return {
        fleet: part(fleet),
        providers: new Map([...providers].map(([name, counts]) => [name, part(counts)])),
      };
    },
    schema: async () => ({ version: 'none', tagTypes: [] }),
    machines: async (_) => ({ machines: [], sql: [], next: null }),
    hardware: async (_) => ({ machines: [], next: null }),
    history: async (machineId) => historyOf(memory, machineId),
    events: async (query) => eventsOf(memory, query),
    slotHistory: async (query) => slotHistoryOf(memory, query),
    sessions: async () => sessionsOf(memory),
    episodes: async (query) => episodesSince(memory, query),
  };
}

/** The other counts are 0. */
function partOf(counts: Counts, only: StatisticsPart | undefined): Counts {
  if (only === undefined) return counts;
  const { activeWork, activeBackoffs, ...machines } = counts;
  const none = byProcess(() => 0);
  const zeros = Object.keys(machines).map((name) => [name, 0]);
  return {
    ...(only === 'machines' ? machines : (Object.fromEntries(zeros) as typeof machines)),
    activeWork: only === 'work' ? activeWork : none,
    activeBackoffs: only === 'backoffs' ? activeBackoffs : none,
  };
}

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
