import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { slot } from '../../domain/ids.ts';
import { isTimed } from '../../domain/machine-filter.ts';
import { ListQuery, readSort, requireFilter, WINDOW_MAX } from '../api/machines.ts';
import type { Access } from '../access/access.ts';
import { EventsOf, eventsWanted, startOf } from '../api/events.ts';
import { described, eventStream, type Api } from '../api/kit.ts';
import { Problem } from '../api/problem.ts';
import { wholeNumber } from '../api/schemas.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import type { EventRepository } from '../../adapters/bmdb/port.ts';
import type { ChangeLog } from './change-log.ts';
import type { EventFollower } from './event-feed.ts';
import type { Hub, View, StreamLimits } from './hub.ts';
import { createWindow } from './window.ts';

const Query = z.strictObject({
  view: z.enum(['fleet', 'list', 'machine', 'events']),
  ...ListQuery,
  offset: wholeNumber(0, 10_000_000).default(0),
  limit: wholeNumber(1, WINDOW_MAX).default(100),
  ...EventsOf,
  slot: z.string().max(300).optional().describe('For the view `machine`: `<provider>/<slot id>`.'),
});
type Query = z.output<typeof Query>;

export interface StreamDeps {
  readonly hub: Hub;
  readonly index: MachineIndex;
  readonly changes: ChangeLog;
  readonly epoch: string;
  readonly limits: StreamLimits;
  readonly events: EventRepository;
  readonly follower: EventFollower;
}

/** `stream`: what a page looks at, as server-sent events. The URL holds all parameters. */
export function addStream(
  api: Api,
  deps: StreamDeps & { readonly access: Pick<Access, 'follow'> },
): void {
  const { hub } = deps;
  api.get(
    '/stream',
    {
      exposeHeadRoute: false,
      ...described(
        'see',
        ['fleet', 'Server-sent events: hello, frame, rows, list, machine, event, tick, bye'],
        { 200: eventStream('The stream ends with `bye`, or when the reader disconnects.') },
        {
          querystring: Query,
          headers: z.object({ 'last-event-id': z.string().max(200).optional() }),
        },
      ),
    },
    async (request, reply) => {
      requireRoom(request, deps);
      const view = await viewOf(request.query, deps, request.headers['last-event-id'] ?? null);
      if (request.raw.destroyed) {
        view.release();
        return reply.hijack();
      }
      const headers = reply.getHeaders() as Record<string, string>;
      const end = hub.attach({ response: reply.raw, headers, person: request.person, view });
      // A caller who is no longer known is disconnected once the next look-up finds out.
      reply.raw.once('close', deps.access.follow(request, end));
      return reply.hijack();
    },
  );
}

function requireRoom({ person }: FastifyRequest, { hub, limits }: StreamDeps): void {
  const isMany = person.proven && hub.readersOf(person) >= limits.readersOfOneMax;
  if (!isMany && hub.readers < limits.readersMax) return;
  const whose = isMany ? `${person.name} has` : 'This console has';
  throw new Problem(
    'limited',
    `${whose} the maximum number of open streams: close one, and try again`,
    { retryAfterSeconds: 5 },
  );
}

/** Where a reader stopped: the number of a change, and the revision of the list. */
function readId(text: string | null, epoch: string) {
  const [itsEpoch, number, revision] = text?.split('.') ?? [];
  if (itsEpoch !== epoch || !/^\d+$/.test(number ?? '')) return null;
  return { number: Number(number), revision: Number(revision) };
}

/** What to send to a reader, given where it stopped (`last-event-id`). */
export async function viewOf(query: Query, deps: StreamDeps, lastId: string | null): Promise<View> {
  const { index, changes, epoch } = deps;
  const last = readId(lastId, epoch);
  const plain = {
    window: null,
    slot: null,
    feed: null,
    isFleet: false,
    refresh: null,
    release: () => undefined,
  };
  if (query.view === 'fleet') {
    return { ...plain, isFleet: true, isResumed: last !== null };
  }
  if (query.view === 'events') return { ...plain, ...(await eventsView(query, deps, lastId)) };
  if (query.view === 'machine') {
    if (query.slot === undefined) throw new Problem('malformed', 'slot: it is missing');
    const [provider = '', ...rest] = query.slot.split('/');
    const name = slot(provider, rest.join('/'));
    return { ...plain, slot: name, isResumed: last !== null };
  }
  const { sort, descending } = readSort(query.sort);
  const filter = requireFilter(query.filter);
  const listing = await index.listing(filter, sort);
  const isSame = last !== null && last.revision === listing.revision;
  const known = isSame ? changes.since(last.number) : null;
  const window = createWindow(listing, { ...query, descending }, known ?? undefined);
  return {
    ...plain,
    window,
    isResumed: known !== null,
    refresh: isTimed(filter) ? async () => void (await index.listing(filter, sort)) : null,
    release: index.hold(listing),
  };
}

/** Event numbers come from the database, so those of another daemon are valid too. */
async function eventsView(
  query: Query,
  { events, follower, hub }: StreamDeps,
  lastId: string | null,
): Promise<Pick<View, 'feed' | 'isResumed' | 'release'>> {
  const isResumed = lastId !== null && /^\d{1,18}$/.test(lastId);
  const signal = new AbortController().signal;
  const after = isResumed ? lastId : await startOf(query, events, signal);
  const feed = follower.follow({ ...eventsWanted(query), after }, () => hub.wake());
  return { feed, isResumed, release: () => feed.release() };
}
