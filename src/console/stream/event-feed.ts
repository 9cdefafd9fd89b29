import type { EventBook, EventsQuery } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { FleetEvent } from '../../domain/events/fleet-event.ts';

/** Which events a reader is told, and after which number. */
export type FeedQuery = Omit<EventsQuery, 'limit'>;

/** The events of one reader, as fast as it takes them. */
export interface EventFeed {
  /** There is one to take. */
  readonly isDirty: boolean;
  take(): FleetEvent | undefined;
  /** Number up to which the reader was told everything that it wants. */
  readonly position: string;
  release(): void;
}

/** Looks for all readers whether something happened; what each of them wants is read for it. */
export interface EventFollower {
  /** @param onNews told when there is something to take, from time to time. */
  follow(query: FeedQuery, onNews: () => void): EventFeed;
  close(): void;
}

export interface FollowerDeps {
  readonly events: Pick<EventBook, 'read' | 'newest'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often events are asked for while somebody reads. */
const POLL_MS = 500;
/** Events that wait for one reader. */
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
    // A reader may be ahead: of what this daemon knows to be complete, or of a database that was restored;
    // a page tells which, and where to go on.
    for (const feed of [...feeds]) if (feed.at !== newest) await fill(feed, signal);
  };
  const failed = (err: unknown) =>
    log.warn({ err }, 'events cannot be read; who follows them waits');
  const run = async ({ signal }: AbortController) => {
    while (!signal.aborted) {
      await look(signal).catch((err: unknown) => {
        if (!signal.aborted) failed(err);
      });
      // Whoever stops it is not told of it by the pause.
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

/** What is kept of one reader. */
interface Feed {
  readonly query: FeedQuery;
  readonly onNews: () => void;
  readonly waiting: FleetEvent[];
  isFilling: boolean;
  /** Up to which number it was looked for what the reader wants. */
  at: string;
  /** Of the last event that was taken. */
  told: string;
}
