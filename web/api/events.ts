import { infiniteQueryOptions } from '@tanstack/react-query';
import type { PublishedEvent } from '../../src/console/api/event-schema.ts';
import { addressOf, read } from './ask.ts';

interface EventsPage {
  readonly events: readonly PublishedEvent[];
  readonly next: string;
}
/** Events before a given number, newest first. */
interface BackPage {
  readonly events: readonly PublishedEvent[];
  /** Null: there are no earlier events. */
  readonly before: number | null;
}

/** The API returns events by number, oldest first. One request covers this many numbers … */
const SPAN = 1_000;
/** … and one page reads at most this many spans until one contains a match. */
const SPANS_MAX = 20;

async function readBack(
  type: string | undefined,
  start: number | null,
  signal: AbortSignal,
): Promise<BackPage> {
  const ask = (after: string, limit: number) =>
    read<EventsPage>(addressOf(['events'], { type, after, limit }), signal);
  let before = start ?? Number((await ask('now', 1)).next) + 1;
  let found: PublishedEvent[] = [];
  for (let at = 0; at < SPANS_MAX && found.length === 0 && before > 1; at++) {
    const after = Math.max(0, before - 1 - SPAN);
    const { events } = await ask(String(after), SPAN);
    found = events.filter(({ number }) => Number(number) < before).toReversed();
    before = after + 1;
  }
  return { events: found, before: before > 1 ? before : null };
}

/** Events in pages, newest first. With `isFollowed` the page polls for new events. */
export const eventsBack = (type: string | undefined, isFollowed: boolean) =>
  infiniteQueryOptions({
    queryKey: ['events', type],
    queryFn: ({ pageParam, signal }) => readBack(type, pageParam, signal),
    initialPageParam: null as number | null,
    getNextPageParam: ({ before }) => before ?? undefined,
    refetchInterval: isFollowed ? 2_000 : false,
    retry: false,
  });
