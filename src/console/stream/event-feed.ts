import type { EventRepository, EventsQuery } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { FleetEvent } from '../../domain/events/fleet-event.ts';

/** Events for a reader, and the number after which they begin. */
export type FeedQuery = Omit<EventsQuery, 'limit'>;

/** One reader's events, as fast as it takes them. */
export interface EventFeed {
  /** Whether an event is waiting. */
  readonly isDirty: boolean;
  take(): FleetEvent | undefined;
  /** Number up to which the reader has received all its events. */
  readonly position: string;
  release(): void;
}

/** Polls for new events on behalf of all readers, and reads the events of each. */
export interface EventFollower {
  /** @param onNews called from time to time when an event is waiting. */
  follow(query: FeedQuery, onNews: () => void): EventFeed;
  close(): void;
}

export interface FollowerDeps {
  readonly events: Pick<EventRepository, 'read' | 'newest'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Polling period while somebody reads. */
const POLL_MS = 500;
/** Maximum waiting events per reader. */
const WAITING_MAX = 100;

export function createEventFollower({ events, clock, log }: FollowerDeps): EventFollower {
  const feeds = new Set<Feed>();
  let stopping: AbortController | null = null;

  const fill = async (feed: Feed, signal: AbortSignal) => {
    if (feed.isFilling || feed.waiting.length > 0) return;
    feed.isFilling = true;
    try {
      const query = { ...feed.query, after: feed.at, limit: WAITING_MAX };
      const page = await events.read(query, signal);
      feed.waiting.push(...page.events);
      feed.at = page.next;
    } finally {
      feed.isFilling = false;
    }
    if (feed.waiting.length > 0) feed.onNews();
  };
  const look = async (signal: AbortSignal) => {
    const newest = await events.newest(signal);
    // A reader may be ahead of the events that this daemon can return yet, or of a restored
    // database. A page shows the difference, and where to continue.
    for (const feed of [...feeds]) if (feed.at !== newest) await fill(feed, signal);
  };
  const failed = (err: unknown) =>
    log.warn({ err }, 'events cannot be read; followers of the event stream wait');
  const run = async ({ signal }: AbortController) => {
    while (!signal.aborted) {
      await look(signal).catch((err: unknown) => {
        if (!signal.aborted) failed(err);
      });
      // The pause's rejection only means that the follower was stopped.
      await sleep(clock, POLL_MS, signal).catch(() => undefined);
    }
  };
  const stop = () => {
    stopping?.abort();
    stopping = null;
  };
  return {
    follow(query, onNews) {
      const { after } = query;
      const feed: Feed = { query, onNews, waiting: [], isFilling: false, at: after, told: after };
      feeds.add(feed);
      if (!stopping) {
        stopping = new AbortController();
        void run(stopping);
      }
      return {
        get isDirty() {
          return feed.waiting.length > 0;
        },
        take() {
          const event = feed.waiting.shift();
          if (event) feed.told = event.number;
          const { signal } = stopping ?? {};
          if (feed.waiting.length === 0 && event && signal) fill(feed, signal).catch(failed);
          return event;
        },
        get position() {
          return feed.waiting.length > 0 ? feed.told : feed.at;
        },
        release() {
          feeds.delete(feed);
          if (feeds.size === 0) stop();
        },
      };
    },
    close() {
      feeds.clear();
      stop();
    },
  };
}

/** State of one reader. */
interface Feed {
  readonly query: FeedQuery;
  readonly onNews: () => void;
  readonly waiting: FleetEvent[];
  isFilling: boolean;
  /** Number up to which events were searched for the reader. */
  at: string;
  /** Number of the last event taken. */
  told: string;
}
