import type { EventType, FleetEvent, NewEvent } from '../../domain/events/fleet-event.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { Lease } from './port.ts';

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

/** How webhooks stand, and what people do with their deliveries. */
export interface WebhookBook {
  /** Those that were ever delivered to, by name. */
  list(signal: AbortSignal): Promise<readonly WebhookStanding[]>;
  /** Deliveries that failed, the latest event first. */
  deliveries(query: DeliveryQuery, signal: AbortSignal): Promise<readonly FailedDelivery[]>;
  /** Has a delivery that failed tried again at once, from the beginning. @returns false: there is none. */
  replay(webhook: string, number: string): Promise<boolean>;
  /** Goes on where it stopped. @returns false: it is not disabled. */
  enable(webhook: string): Promise<boolean>;
}

export interface WebhookStanding {
  readonly name: string;
  /** Events up to this number were delivered, failed, or are not wanted. */
  readonly toldTo: string;
  /** Database clock, as all times; null: none yet. */
  readonly deliveredAtMs: number | null;
  readonly disabledAtMs: number | null;
  readonly disabledReason: string | null;
  /** Deliveries that are tried again. */
  readonly waiting: number;
  /** When the first of them failed first; null: none waits. */
  readonly waitingSinceMs: number | null;
  /** Dead letters. */
  readonly dead: number;
}

export interface DeliveryQuery {
  readonly webhook: string;
  /** Absent: both. */
  readonly state?: 'waiting' | 'dead' | undefined;
  /** Only events before this number. */
  readonly before?: string | undefined;
  /** At most 1,000. */
  readonly limit: number;
}

export interface FailedDelivery {
  readonly number: string;
  readonly type: string;
  readonly attempts: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Null: it is a dead letter. */
  readonly nextAtMs: number | null;
  /** HTTP status of the last answer; null: there was none. */
  readonly status: number | null;
  readonly cause: string;
}

/** What whoever has the lease of a webhook writes down. */
export interface WebhookDesk {
  /**
   * Where deliveries stand.
   * @param from where a webhook begins that was never delivered to.
   * @throws {LeaseLost} @throws {SessionExpired}
   */
  begin(lease: Lease, webhook: string, from: string): Promise<WebhookBegin>;
  /** Deliveries that are due again, the longest due first; without those that are under way. */
  due(webhook: string, but: readonly string[], limit: number): Promise<readonly DueDelivery[]>;
  /**
   * What became of deliveries, in one statement.
   * @throws {LeaseLost} another daemon has the webhook now; nothing was written.
   * @throws {SessionExpired}
   */
  record(lease: Lease, webhook: string, results: DeliveryResults): Promise<void>;
}

export interface WebhookBegin {
  readonly toldTo: string;
  readonly isDisabled: boolean;
}

export interface DueDelivery {
  readonly number: string;
  readonly attempts: number;
  /** Null: the event is no longer stored. */
  readonly event: FleetEvent | null;
}

export interface DeliveryResults {
  readonly toldTo: string;
  /** There was a success since the last time. */
  readonly hasDelivered: boolean;
  /** Those that had failed before, and need no row any more. */
  readonly delivered: readonly string[];
  readonly failed: readonly {
    readonly number: string;
    readonly type: string;
    readonly attempts: number;
    /** Null: it is not tried any more. */
    readonly nextInMs: number | null;
    readonly status: number | null;
    readonly cause: string;
  }[];
  /** Why nothing more is to be sent; null: it goes on. */
  readonly disabled: string | null;
}
