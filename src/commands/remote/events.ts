import { factLines, timeText } from '../machine/layout.ts';
import { jsonLine } from '../text-table.ts';
import type { Events } from './answers.ts';
import { NoConsole, Refused } from './failures.ts';
import { documentText } from './output.ts';
import type { Session, Told } from './session.ts';

export interface EventsFlags {
  readonly type?: string;
  readonly provider?: string;
  readonly machine?: string;
  /** Only what comes after this number; `now`: only what is yet to come. */
  readonly after?: string;
  readonly limit: number;
  readonly follow: boolean;
}

const LOOK_MS = 1_000;
const PAGE = 1_000;

/** `shepherd events`: what happened, oldest first; with `follow` it goes on until Ctrl-C. */
export async function showEvents(flags: EventsFlags, session: Session): Promise<Told> {
  if (flags.follow) return follow(flags, session);
  const { client, format, width } = session;
  const page = await client.get<Events>('/events', queryOf(flags, flags.after, flags.limit));
  if (format === 'json' || format === 'yaml') {
    return { text: await documentText(page, format), exitCode: 0 };
  }
  const lines = page.events.map((event) => lineOf(event, format, width));
  return { text: lines.join('\n'), exitCode: 0 };
}

const queryOf = (
  { type, provider, machine }: EventsFlags,
  after: string | undefined,
  limit: number,
) => ({ ...{ type, provider, machine, after }, limit: Math.min(limit, PAGE) });

/** Every daemon tells of the same numbers, so it goes on wherever a console answers again. */
async function follow(flags: EventsFlags, session: Session): Promise<Told> {
  const { client, format, width, signal, sleep, say, write } = session;
  let after = flags.after ?? 'now';
  let isAway = false;
  while (!signal.aborted) {
    try {
      const page = await client.get<Events>('/events', queryOf(flags, after, PAGE));
      if (isAway) say('the console answers again');
      isAway = false;
      for (const event of page.events) write(`${lineOf(event, format, width)}\n`);
      after = page.next;
      if (page.more) continue;
    } catch (error) {
      if (signal.aborted) break;
      const passes = error instanceof NoConsole || (error instanceof Refused && error.retryable);
      if (!passes) throw error;
      if (!isAway) say(`${error.message}; it is tried again`);
      isAway = true;
    }
    await sleep(LOOK_MS);
  }
  return { text: '', exitCode: 0 };
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
