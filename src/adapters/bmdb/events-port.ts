import type { EventType, FleetEvent, NewEvent } from '../../domain/events/fleet-event.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';

/**
 * Everything that happened, in one order that every daemon tells alike: whoever read up to a number is
 * never told of a smaller one later, whatever is committed meanwhile.
 */
export interface EventBook {
  /** The number up to which every event is known; whoever wants only new ones begins behind it. */
  newest(signal: AbortSignal): Promise<string>;
  /** The events after a number, in their order, as far as all of them are known. */
  read(query: EventsQuery, signal: AbortSignal): Promise<EventsPage>;
  /**
   * The last events that match, oldest first, as far as all of them are known. Types that share a kind of
   * line in a slot's log count together for the limit, so there may be fewer.
   */
  latest(query: LatestQuery, signal: AbortSignal): Promise<EventsPage>;
  /** Writes an event that no change of rows stands for. */
  append(event: NewEvent): Promise<void>;
  /**
   * How long reads have shown events that may not be told, since a transaction runs that may have written
   * earlier ones, while nothing more could be told; 0: none. By what was read by this process.
   */
  waitingMs(): number;
}

/** Which events; all that is given must be so. */
export interface EventsQuery {
  /** Exclusive. A whole number as text. */
  readonly after: string;
  /** Most events, 1 to 1,000. */
  readonly limit: number;
  /** Absent: every type. */
  readonly types?: readonly EventType[] | undefined;
  readonly provider?: ProviderName | undefined;
  readonly slotId?: string | undefined;
  readonly machineId?: MachineId | undefined;
}

/** As `EventsQuery`, backwards from the newest event. */
export interface LatestQuery extends Omit<EventsQuery, 'after'> {
  /** None from before this moment. */
  readonly sinceMs?: number | undefined;
}

export interface EventsPage {
  readonly events: readonly FleetEvent[];
  /**
   * Where to go on from, as `after`: also where few or no events matched. Less than what was given as
   * `after` where the database never gave that number: it is an older one, which was restored.
   */
  readonly next: string;
  /** There is more behind `next` already. */
  readonly more: boolean;
}

/** Most events of one answer. */
export const EVENTS_MAX = 1_000;
/** Where nothing comes before. */
export const BEFORE_ALL = '0';
