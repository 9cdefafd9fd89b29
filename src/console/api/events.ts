import { z } from 'zod';
import { BEFORE_ALL, EVENTS_MAX } from '../../adapters/bmdb/port.ts';
import type { EventRepository, EventsPage, EventsQuery } from '../../adapters/bmdb/port.ts';
import { namesTypes, typesNamed } from '../../domain/events/fleet-event.ts';
import { isUuid, machineId, providerName } from '../../domain/ids.ts';
import { EventSchema, publishedEvent } from './event-schema.ts';
import { download, Format, linesOf, NDJSON, type DownloadPage } from './download.ts';
import { API, described, type Api } from './kit.ts';
import { malformed } from './problem.ts';
import { listOf, text, wholeNumber } from './schemas.ts';

const NOW = 'now';

/** Selection of events in a URL. */
export const EventsOf = {
  after: text
    .regex(/^(now|\d{1,18})$/, 'give `now`, or the number of an event')
    .optional()
    .describe('Only events after this number. `now`: only future events. Absent: all events.'),
  type: text
    .max(1_000)
    .optional()
    .describe('Comma-separated types, such as `guard.frozen,machine.*`.'),
  provider: text.max(64).optional(),
  machine: text.max(36).optional().describe('A machine id.'),
};
export type EventsOf = z.output<z.ZodObject<typeof EventsOf>>;

/** The last time that a Date can hold. */
const LAST_MS = 8.64e15;

const Query = z.strictObject({
  ...EventsOf,
  limit: wholeNumber(1, EVENTS_MAX).default(100),
  tail: wholeNumber(1, EVENTS_MAX)
    .optional()
    .describe('Maximum number of latest events. Not together with `after` or `format`.'),
  sinceMs: wholeNumber(0, LAST_MS)
    .optional()
    .describe('With `tail`: only events at or after this time, in epoch milliseconds.'),
  format: Format,
});

export const PageSchema = z.object({
  events: listOf(EventSchema),
  next: text.describe('Give it as `after` to read the next page, even if this page is empty.'),
  more: z.boolean().describe('More events exist already.'),
});

/** `events`: the fleet's events, oldest first. */
export function addEvents(api: Api, events: EventRepository): void {
  api.get(
    '/events',
    described(
      'see',
      ['fleet', 'Events, oldest first; as NDJSON if `accept` names it'],
      {
        200: {
          description: 'A page. The header `link` (rel="next") has the address of the next page.',
          content: {
            'application/json': { schema: PageSchema },
            [NDJSON]: { schema: text.describe('One event per line.') },
          },
        },
      },
      { querystring: Query, headers: z.looseObject({ accept: text.optional() }) },
    ),
    async (request, reply) => {
      const { limit, format, tail, sinceMs, ...of } = request.query;
      const wanted = eventsWanted(of);
      const signal = new AbortController().signal;
      const tell = (page: EventsPage) => {
        const told = page.events.map(publishedEvent);
        const { next, more } = page;
        const behind = queryOf({ ...of, after: next, limit });
        reply.header('link', `<${API}/events?${behind}>; rel="next"`);
        return request.headers.accept?.includes(NDJSON)
          ? reply.type(NDJSON).send(linesOf(told))
          : reply.send({ events: told, next, more });
      };
      if (sinceMs !== undefined && tail === undefined) throw malformed('sinceMs', 'give tail, too');
      if (tail !== undefined) {
        if (of.after !== undefined || format !== 'json') {
          throw malformed('tail', 'leave out after and format');
        }
        return tell(await events.latest({ ...wanted, limit: tail, sinceMs }, signal));
      }
      const after = await startOf(of, events, signal);
      if (format === 'ndjson') {
        const read = (from: string) =>
          events.read({ ...wanted, after: from, limit: EVENTS_MAX }, signal);
        return download(reply, 'events', await allFrom(read, after));
      }
      return tell(await events.read({ ...wanted, after, limit }, signal));
    },
  );
}

type ReadEvents = (after: string) => ReturnType<EventRepository['read']>;

async function allFrom(read: ReadEvents, after: string): Promise<DownloadPage> {
  const { events, next, more } = await read(after);
  return { rows: events.map(publishedEvent), next: more ? () => allFrom(read, next) : null };
}

/** @throws {Problem} unknown name. */
export function eventsWanted({
  type,
  provider,
  machine,
}: EventsOf): Pick<EventsQuery, 'types' | 'provider' | 'machineId'> {
  const names = type?.split(',').map((name) => name.trim());
  const strange = names?.find((name) => !namesTypes(name));
  if (strange !== undefined) throw malformed('type', `there is no type ${strange}`);
  if (machine !== undefined && !isUuid(machine)) throw malformed('machine', 'give a machine id');
  return {
    types: typesNamed(names),
    provider: provider === undefined ? undefined : providerName(provider),
    machineId: machine === undefined ? undefined : machineId(machine),
  };
}

/** The number after which to begin. */
export const startOf = async (
  { after }: Pick<EventsOf, 'after'>,
  events: Pick<EventRepository, 'newest'>,
  signal: AbortSignal,
): Promise<string> => (after === NOW ? events.newest(signal) : (after ?? BEFORE_ALL));

const queryOf = (query: Readonly<Record<string, string | number | undefined>>): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    ),
  ).toString();
