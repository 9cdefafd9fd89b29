import type { EventType, FleetEvent, NewEvent } from '../../domain/events/fleet-event.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { Lease } from './port.ts';

/**
 * All events, in one order that is the same for every daemon. A reader that has read up to a number
 * never gets a smaller number later, whatever commits in between.
 */
export interface EventRepository {
  /** The number up to which events are complete. Readers of new events start after it. */
  newest(signal: AbortSignal): Promise<string>;
  /** Returns the events after a number, in order, up to where events are complete. */
  read(query: EventsQuery, signal: AbortSignal): Promise<EventsPage>;
  /**
   * Returns the last events that match, oldest first, up to where events are complete. Types that
   * share a kind of log line count together for the limit, so fewer may come back.
   */
  latest(query: LatestQuery, signal: AbortSignal): Promise<EventsPage>;
  /** Writes an event that belongs to no change of rows. */
  append(event: NewEvent): Promise<void>;
  /**
   * How long reads of this process have been waiting for events that cannot be returned yet. A
   * running transaction may have written earlier events. 0: no read waits.
   */
  waitingMs(): number;
}

/** Filter of events; all given conditions must hold. */
export interface EventsQuery {
  /** Exclusive; a whole number as text. */
  readonly after: string;
  /** Maximum number of events, 1 to 1,000. */
  readonly limit: number;
  /** Absent: all types. */
  readonly types?: readonly EventType[] | undefined;
  readonly provider?: ProviderName | undefined;
  readonly slotId?: string | undefined;
  readonly machineId?: MachineId | undefined;
}

/** Like `EventsQuery`, but backwards from the newest event. */
export interface LatestQuery extends Omit<EventsQuery, 'after'> {
  /** Excludes events before this time. */
  readonly sinceMs?: number | undefined;
}

export interface EventsPage {
  readonly events: readonly FleetEvent[];
  /**
   * The next page's `after`, also if few or no events matched. Smaller than this page's `after` if
   * the database never issued that number, because an older backup was restored.
   */
  readonly next: string;
  /** More events exist after `next`. */
  readonly more: boolean;
}

/** Maximum number of events in one answer. */
export const EVENTS_MAX = 1_000;
/** The number before all events. */
export const BEFORE_ALL = '0';

/** States of webhooks, and what operators do with their deliveries. */
export interface WebhookRepository {
  /** Webhooks with at least one delivery attempt, by name. */
  list(signal: AbortSignal): Promise<readonly WebhookStatus[]>;
  /** Failed deliveries, latest event first. */
  deliveries(query: DeliveryQuery, signal: AbortSignal): Promise<readonly FailedDelivery[]>;
  /** Retries a failed delivery at once, from its first attempt. @returns false if there is none. */
  replay(webhook: string, number: string): Promise<boolean>;
  /** Resumes a disabled webhook where it stopped. @returns false if the webhook is not disabled. */
  enable(webhook: string): Promise<boolean>;
}

export interface WebhookStatus {
  readonly name: string;
  /** Events up to this number were delivered, have failed, or are not wanted. */
  readonly toldTo: string;
  /** By the database clock, like all times; null if there was none. */
  readonly deliveredAtMs: number | null;
  readonly disabledAtMs: number | null;
  readonly disabledReason: string | null;
  /** Number of deliveries to be retried. */
  readonly waiting: number;
  /** First failure of the oldest of them; null if none waits. */
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
  /** Null if the delivery is a dead letter. */
  readonly nextAtMs: number | null;
  /** HTTP status of the last response; null if there was none. */
  readonly status: number | null;
  readonly cause: string;
}

/** Writes of the daemon that holds the lease of a webhook. */
export interface WebhookService {
  /**
   * Returns where deliveries stand.
   * @param from where a webhook without any delivery starts.
   * @throws {LeaseLost} @throws {SessionExpired}
   */
  begin(lease: Lease, webhook: string, from: string): Promise<WebhookBegin>;
  /** Deliveries due for a retry, longest due first, without those under way (`but`). */
  due(webhook: string, but: readonly string[], limit: number): Promise<readonly DueDelivery[]>;
  /**
   * Records the results of deliveries in one statement.
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
  /** Null if the event has been deleted. */
  readonly event: FleetEvent | null;
}

export interface DeliveryResults {
  readonly toldTo: string;
  /** A delivery has succeeded since the last record. */
  readonly hasDelivered: boolean;
  /** Deliveries that had failed before and no longer need a row. */
  readonly delivered: readonly string[];
  readonly failed: readonly {
    readonly number: string;
    readonly type: string;
    readonly attempts: number;
    /** Null if no retry follows. */
    readonly nextInMs: number | null;
    readonly status: number | null;
    readonly cause: string;
  }[];
  /** Why the webhook is disabled; null if it stays enabled. */
  readonly disabled: string | null;
}
