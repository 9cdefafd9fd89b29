import {
  EVENT_TYPES,
  type FleetEvent,
  type NewEvent,
  eventOfLine,
} from '../../../src/domain/events/fleet-event.ts';
import { providerOf, slotIdOf, type Slot } from '../../../src/domain/ids.ts';
import { EVENTS_MAX } from '../../../src/adapters/bmdb/port.ts';
import type { EventRepository, EventsPage, LatestQuery } from '../../../src/adapters/bmdb/port.ts';
import type { MemEvent, Memory } from './tables.ts';

/** Records an event of the fleet. */
export function tell(memory: Memory, event: NewEvent): void {
  const { provider = null, slotId = null, machineId = null, ...rest } = event;
  const about = { provider, slotId, machineId, from: null, to: null };
  memory.told.push({ ...numbered(memory), ...about, ...rest });
}

/** Records a line of a slot's log, if the line is an event. */
export function tellLine(memory: Memory, line: MemEvent): void {
  const told = eventOfLine(line);
  const { machineId, actor, from, to } = line;
  const name = line.slot as Slot;
  const about = { provider: providerOf(name), slotId: slotIdOf(name), machineId };
  if (told) memory.told.push({ ...numbered(memory), ...about, actor, from, to, ...told });
}

const numbered = (memory: Memory) => ({ number: String(memory.nextEvent()), atMs: memory.now() });

/** See `EventRepository`. */
export const createEventRepository = (memory: Memory): EventRepository => ({
  waitingMs: () => 0,
  newest: async () => newest(memory),
  read: async (query): Promise<EventsPage> => {
    const { after } = query;
    const limit = limitOf(query);
    const last = newest(memory);
    if (BigInt(after) > BigInt(last)) return { events: [], next: last, more: false };
    const wanted = wantedOf(memory, query).filter(({ number }) => BigInt(number) > BigInt(after));
    const events = wanted.slice(0, limit);
    const next = events.length === limit ? events.at(-1)!.number : last;
    return { events, next, more: BigInt(next) < BigInt(last) };
  },
  latest: async (query) => {
    const { sinceMs = 0 } = query;
    const wanted = wantedOf(memory, query).filter(({ atMs }) => atMs >= sinceMs);
    return { events: wanted.slice(-limitOf(query)), next: newest(memory), more: false };
  },
  append: async (event) => {
    tell(memory, event);
  },
});

const limitOf = ({ limit }: LatestQuery) => Math.max(1, Math.min(EVENTS_MAX, Math.floor(limit)));

const wantedOf = (
  { told }: Memory,
  { types = EVENT_TYPES, provider, slotId, machineId }: LatestQuery,
) =>
  told.filter(
    (event) =>
      types.includes(event.type) &&
      (provider ?? event.provider) === event.provider &&
      (slotId ?? event.slotId) === event.slotId &&
      (machineId ?? event.machineId) === event.machineId,
  );

const newest = ({ told }: Memory): string => told.at(-1)?.number ?? '0';

/** Ends holds whose time is over. */
export function endExpiredHolds(memory: Memory): void {
  const isOver = ({ untilMs }: { readonly untilMs: number | null }) =>
    untilMs !== null && untilMs <= memory.now();
  for (const { provider, slotId, kind, setBy, reason } of memory.holds.filter(isOver)) {
    tell(memory, {
      ...{ type: 'hold.expired', provider, slotId, actor: setBy, reason, details: { kind } },
    });
  }
  memory.holds = memory.holds.filter((hold) => !isOver(hold));
}

/** Records a hold on a provider, unless the hold lasted already. */
export function tellProviderHold(
  memory: Memory,
  hold: Pick<FleetEvent, 'provider'> & {
    readonly kind: string;
    readonly key: string;
    readonly level: number;
    readonly untilMs: number;
    readonly cause: string;
  },
  beforeMs: number | undefined,
): void {
  if (beforeMs !== undefined && beforeMs > memory.now()) return;
  const { provider, kind, key, level, untilMs, cause: reason } = hold;
  tell(memory, {
    type: 'provider.hold_set',
    provider,
    slotId: kind === 'penalty' ? key : null,
    actor: 'shepherd',
    reason,
    details: { kind, key, level, untilMs },
  });
}
