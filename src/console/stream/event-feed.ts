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

/** Reads events once for all readers that are near the end; who is further behind reads for itself. */
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
/** Events that are kept for those who are near the end. */
const KEPT_MAX = 1_000;
/** Events that wait for one reader. */
const WAITING_MAX = 100;

export function createEventFollower({ events, clock, log }: FollowerDeps): EventFollower {
  const feeds = new Set<Feed>();
  let stopping: AbortController | null = null;
  /** All events behind `from` up to `to`. */
  let kept: { events: readonly FleetEvent[]; from: bigint; to: bigint } | null = null;

  const fill = async (feed: Feed, signal: AbortSignal) => {
    if (feed.isFilling || feed.waiting.length > 0) return;
    feed.isFilling = true;
    try {
      const after = BigInt(feed.at);
      if (kept && after >= kept.from) {
        const news = kept.events.filter((each) => BigInt(each.number) > after && feed.wants(each));
        feed.waiting.push(...news.slice(0, WAITING_MAX));
        const isAll = feed.waiting.length === news.length;
        if (kept.to > after) feed.at = isAll ? String(kept.to) : feed.waiting.at(-1)!.number;
      } else {
        const query = { ...feed.query, after: feed.at, limit: WAITING_MAX };
        const page = await events.read(query, signal);
        feed.waiting.push(...page.events);
        feed.at = page.next;
      }
    } finally {
      feed.isFilling = false;
    }
    if (feed.waiting.length > 0) feed.onNews();
  };
  const readOn = async (signal: AbortSignal): Promise<boolean> => {
    kept ??= await startingAt(events.newest(signal));
    const page = await events.read({ after: String(kept.to), limit: KEPT_MAX }, signal);
    const to = BigInt(page.next);
    if (to < kept.to) {
      // The database was restored: what is to come has numbers that were told before.
      kept = { events: [], from: to, to };
      for (const feed of feeds) if (BigInt(feed.at) > to) feed.at = page.next;
    } else {
      const all = [...kept.events, ...page.events];
      const dropped = all.slice(0, -KEPT_MAX).at(-1);
      kept = {
        events: all.slice(-KEPT_MAX),
        from: dropped ? BigInt(dropped.number) : kept.from,
        to,
      };
    }
    for (const feed of [...feeds]) await fill(feed, signal);
    return page.more;
  };
  const failed = (err: unknown) =>
    log.warn({ err }, 'events cannot be read; who follows them waits');
  const run = async ({ signal }: AbortController) => {
    while (!signal.aborted) {
      let isMore = false;
      try {
        isMore = await readOn(signal);
      } catch (err) {
        if (!signal.aborted) failed(err);
      }
      // Whoever stops it is not told of it by the pause.
      if (!isMore) await sleep(clock, POLL_MS, signal).catch(() => undefined);
    }
  };
  const stop = () => {
    stopping?.abort();
    stopping = null;
    kept = null;
  };
  return {
    follow(query, onNews) {
      const feed = createFeed(query, onNews);
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
  readonly wants: (event: FleetEvent) => boolean;
  isFilling: boolean;
  /** Up to which number it was looked for what the reader wants. */
  at: string;
  /** Of the last event that was taken. */
  told: string;
}

function createFeed(query: FeedQuery, onNews: () => void): Feed {
  const { types, provider, slotId, machineId, after } = query;
  const wants = (event: FleetEvent) =>
    (types === undefined || types.includes(event.type)) &&
    (provider ?? event.provider) === event.provider &&
    (slotId ?? event.slotId) === event.slotId &&
    (machineId ?? event.machineId) === event.machineId;
  return { query, onNews, waiting: [], wants, isFilling: false, at: after, told: after };
}

const startingAt = async (newest: Promise<string>) => {
  const number = BigInt(await newest);
  return { events: [], from: number, to: number };
};
