import type { MachineRow } from '../../../src/domain/machine.ts';
import { byProcess, candidatesOf, statisticsOf } from '../../../src/domain/statistics.ts';
import type { Counts, StatisticsPart } from '../../../src/domain/statistics.ts';
import { inspectField, tagName } from '../../../src/adapters/bmdb/reflection/fields.ts';
import { createMessageReader } from '../../../src/adapters/bmdb/reflection/messages.ts';
import type { MessageReader } from '../../../src/adapters/bmdb/reflection/messages.ts';
import { latestMigration } from '../../../src/adapters/bmdb/schema/migrations.ts';
import { historyOf } from './records.ts';
import { circumstances, liveWork, rowsOf } from './rows.ts';
import { slotHistoryOf } from './slot-history.ts';
import { sessionsOf } from './sessions.ts';
import type { MemMachine, Memory } from './tables.ts';
import { TAGS } from './tags-as-text.ts';
import type {
  BmdbInspection,
  InspectedMachine,
  InspectedMachines,
  InspectionQuery,
  TagType,
  EventLine,
  EventQuery,
} from '../../../src/adapters/bmdb/port.ts';
import { providerOf, slot, slotIdOf, type Slot } from '../../../src/domain/ids.ts';

/**
 * See `BmdbInspection`. The tables are those that the newest migration makes.
 * @param begin throws when the read is not to be made.
 */
export function createInspection(
  memory: Memory,
  begin: (signal: AbortSignal) => void,
): BmdbInspection {
  const messages = createMessageReader();
  return {
    statistics: async (signal, only) => {
      begin(signal);
      const { fleet, providers } = statisticsOf(rowsOf(memory), circumstances(memory));
      const part = (counts: Counts) => partOf(counts, only);
      return {
        fleet: part(fleet),
        providers: new Map([...providers].map(([name, counts]) => [name, part(counts)])),
      };
    },
    candidates: async (query, signal) => {
      begin(signal);
      return candidatesOf(rowsOf(memory), query, circumstances(memory));
    },
    schema: async (signal) => {
      begin(signal);
      return { version: await latestMigration(), tagTypes: TAGS.map(tagTypeOf) };
    },
    machines: async (query, signal) => {
      begin(signal);
      return inspect(memory, query, messages);
    },
    // What agents tell of hardware is not kept in memory.
    hardware: async (_, signal) => {
      begin(signal);
      return { machines: [], next: null };
    },
    history: async (machineId, signal) => {
      begin(signal);
      return historyOf(memory, machineId);
    },
    events: async (query, signal) => {
      begin(signal);
      return eventsOf(memory, query);
    },
    slotHistory: async (query, signal) => {
      begin(signal);
      return slotHistoryOf(memory, query);
    },
    sessions: async (signal) => {
      begin(signal);
      return sessionsOf(memory);
    },
  };
}

/** The counts of the others are 0. */
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

type Tag = (typeof TAGS)[number];

const tagTypeOf = ({ table, columns }: Tag): TagType => ({
  name: tagName(table),
  table,
  columns: columns.map(([name, type]) => ({ name, type })),
});

const PAGE_MAX = 200;

function inspect(
  memory: Memory,
  { machineId, after, expiredBackoffs = false, limit = PAGE_MAX }: InspectionQuery,
  messages: MessageReader,
): InspectedMachines {
  const size = Math.max(1, Math.min(limit, PAGE_MAX));
  const wanted = [...memory.machines.keys()]
    .filter((id) => (machineId ? id === machineId : !after || id > after))
    .toSorted((a, b) => (a < b ? -1 : 1));
  const machines = wanted.slice(0, size).map((id): InspectedMachine => {
    const machine = memory.machines.get(id)!;
    const { row } = machine;
    return {
      machineId: id,
      createdAtMs: row.createdAtMs,
      tags: tagsOf(machine, messages),
      backoffs: backoffsOf(row, expiredBackoffs ? Number.NEGATIVE_INFINITY : memory.now()),
      work: Object.fromEntries(
        liveWork(memory, machine).map(({ process, sessionId }) => [process, sessionId]),
      ),
    };
  });
  const next = wanted.length > size ? (machines.at(-1)?.machineId ?? null) : null;
  return { machines, sql: [], next };
}

function tagsOf(machine: MemMachine, messages: MessageReader): InspectedMachine['tags'] {
  const found = TAGS.flatMap((tag) => {
    const raw = tag.read(machine);
    if (raw === null) return [];
    const { name, columns } = tagTypeOf(tag);
    const fields = columns.map((column, at) => inspectField(column, raw[at] ?? null, messages));
    return [[name, fields] as const];
  });
  return Object.fromEntries(found);
}

const backoffsOf = ({ backoffs }: MachineRow, afterMs: number): InspectedMachine['backoffs'] =>
  Object.fromEntries(
    backoffs
      .filter(({ untilMs }) => untilMs > afterMs)
      .map(({ process, untilMs, cause }) => [process, { untilMs, cause }]),
  );

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
