import { UsageError } from '../../domain/errors.ts';
import { factLines, timeText, jsonLine } from '../layout.ts';
import type { When } from '../options.ts';
import type { Events } from './answers.ts';
import { isAway } from './failures.ts';
import { machineIdOf } from './names.ts';
import type { Session, Told } from './session.ts';
import { momentOf } from './verbs.ts';

export interface EventsFlags {
  readonly type?: string;
  readonly provider?: string;
  readonly machine?: string;
  /** Only this many events, the latest ones. */
  readonly tail?: number;
  readonly since?: When;
  /** The first events after this number. `now`: only new events. */
  readonly after?: string;
  readonly limit?: number;
  readonly follow: boolean;
}

const LOOK_MS = 1_000;
const PAGE = 1_000;
const SHOWN = 100;

/** `shepherd events`: the latest events, oldest first. With `follow` it continues until Ctrl-C. */
export async function showEvents(session: Session, given: EventsFlags): Promise<Told> {
  const { machine: name } = given;
  const machine = name === undefined ? undefined : await machineIdOf(session.client, name);
  const flags = { ...given, ...(machine !== undefined && { machine }) };
  if (flags.follow) return follow(flags, session);
  const { client, format } = session;
  const page = await client.get<Events>('/events', await firstQuery(flags, session));
  return {
    document: page,
    rows: page.events,
    text: (width) => page.events.map((event) => lineOf(event, format, width)).join('\n'),
  };
}

const wantedOf = ({ type, provider, machine }: EventsFlags) => ({ type, provider, machine });

/** @throws {UsageError} one answer cannot have that many events. */
async function firstQuery(flags: EventsFlags, { client }: Session): Promise<EventsQuery> {
  const { after, since, limit = SHOWN, tail = since ? PAGE : limit } = flags;
  if (Math.max(limit, tail) > PAGE) throw new UsageError(`--tail and --limit are at most ${PAGE}`);
  if (after !== undefined) return { ...wantedOf(flags), after, limit };
  const sinceMs = since && ('atMs' in since ? since.atMs : (await momentOf(client)) - since.forMs);
  return { ...wantedOf(flags), tail, sinceMs };
}
type EventsQuery = NonNullable<Parameters<Session['client']['get']>[1]>;

/** Event numbers are the same at every daemon, so this continues at whichever console answers. */
async function follow(flags: EventsFlags, session: Session): Promise<Told> {
  const { client, format, width, signal, sleep, say, write } = session;
  const isLatest = (flags.tail ?? flags.since) !== undefined;
  let query: EventsQuery = isLatest
    ? await firstQuery(flags, session)
    : { ...wantedOf(flags), after: flags.after ?? 'now', limit: PAGE };
  let isLost = false;
  while (!signal.aborted) {
    try {
      const page = await client.get<Events>('/events', query);
      if (isLost) say('the console answers again');
      isLost = false;
      for (const event of page.events) write(`${lineOf(event, format, width)}\n`);
      query = { ...wantedOf(flags), after: page.next, limit: PAGE };
      if (page.more) continue;
    } catch (error) {
      if (signal.aborted) break;
      if (!isAway(error)) throw error;
      if (!isLost) say(`${error.message}; it is tried again`);
      isLost = true;
    }
    await sleep(LOOK_MS);
  }
  return { text: '' };
}

function lineOf(event: Events['events'][number], format: Session['format'], width: number): string {
  if (format === 'name') return event.number;
  if (format !== 'table' && format !== 'wide') return jsonLine(event);
  const { atMs, type, slot, provider, actor, from, to, reason } = event;
  const change = from === null && to === null ? '' : `, ${from ?? '-'} → ${to ?? '-'}`;
  const of = slot ?? provider;
  const what = `${type}${of === null ? '' : ` ${of}`} by ${actor}${change}`;
  return factLines([[timeText(atMs), reason === '' ? what : `${what}: ${reason}`]], width);
}
