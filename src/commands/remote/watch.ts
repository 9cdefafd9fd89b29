import { UsageError } from '../../domain/errors.ts';
import type { MachineRow } from './answers.ts';
import { API } from './client.ts';
import { isAway } from './failures.ts';
import { filterOf, listOf, type MachinesFlags } from './machines.ts';
import { tableText } from './output.ts';
import type { Session, CommandOutput } from './session.ts';

/** The machines of a list, in order, at one moment. */
interface Picture {
  readonly rows: readonly MachineRow[];
  /** Number of machines that match. May be larger than the number of rows. */
  readonly total: number;
  readonly atMs: number;
}

/** The API streams at most this many machines. */
const WATCHED_MAX = 300;
/** A console that was just started may need this long until it knows all machines. */
const FILLING_MS = 15_000;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 5_000;

/**
 * `shepherd machines --watch`: on a terminal, draws the list again at each change. Otherwise prints
 * a line of JSON for each new, changed or removed machine. Continues when the console comes back.
 */
export async function watchMachines(
  session: Session,
  flags: MachinesFlags,
): Promise<CommandOutput> {
  const { limit = WATCHED_MAX } = flags;
  if (limit > WATCHED_MAX)
    throw new UsageError(`--watch shows at most ${WATCHED_MAX} machines; give a smaller --limit`);
  const show = session.terminal
    ? await redrawing(flags, session, session.terminal)
    : changesTo(session);
  let isTold = false;
  for await (const picture of streamed({ ...flags, limit }, session)) {
    show.picture(picture);
    if (isTold || picture.total <= picture.rows.length) continue;
    isTold = true;
    session.say(`only the first ${picture.rows.length} of ${picture.total} machines are watched`);
  }
  show.end();
  return { text: '' };
}

interface Showing {
  picture(picture: Picture): void;
  end(): void;
}

async function redrawing(
  flags: MachinesFlags,
  session: Session,
  terminal: NodeJS.WriteStream,
): Promise<Showing> {
  const update = (await import('../terminal.ts')).redrawing(terminal);
  const { headers, columns } = flags;
  const look = { format: session.format, headers, columns };
  return {
    picture(picture) {
      const { rows, total, atMs } = picture;
      const all = tableText(listOf({ atMs, total, machines: rows }), look).split('\n');
      const room = Math.max(2, (terminal.rows || all.length + 2) - 2);
      const hidden = all.length > room ? [`and ${all.length - room} more lines`] : [];
      update(session.paint([...all.slice(0, room), ...hidden].join('\n')));
    },
    end: () => update.done(),
  };
}

/** A heartbeat alone is no change. */
const essenceOf = ({ lastHeartbeatAtMs: _, ...rest }: MachineRow): string => JSON.stringify(rest);

function changesTo({ write }: Pick<Session, 'write'>): Showing {
  let known = new Map<string, string>();
  const line = (change: object) => write(`${JSON.stringify(change)}\n`);
  return {
    picture({ rows, atMs }) {
      const now = new Map(rows.map((row) => [row.slot, essenceOf(row)]));
      for (const slot of known.keys()) if (!now.has(slot)) line({ change: 'gone', slot, atMs });
      for (const row of rows) {
        const before = known.get(row.slot);
        if (before === now.get(row.slot)) continue;
        line({ change: before === undefined ? 'new' : 'changed', atMs, machine: row });
      }
      known = now;
    },
    end: () => undefined,
  };
}

interface RowsMessage {
  readonly total: number;
  readonly upserts?: readonly MachineRow[];
  readonly removed?: readonly string[];
  readonly order?: readonly string[];
  /** Time of the last heartbeat before `atMs`, by the place in the order. */
  readonly heard?: Readonly<Record<number, number>>;
  readonly atMs?: number;
}

interface Hello {
  readonly atMs?: number;
  readonly resume?: string;
  /** False: the daemon was just started and does not know all machines yet. */
  readonly isWhole?: boolean;
}

/** The list, built from the messages of the stream. */
function createModel() {
  const rows = new Map<string, MachineRow>();
  let order: readonly string[] = [];
  let total = 0;
  let atMs = 0;
  return {
    moment: (ms: number) => (atMs = ms),
    /** The stream begins anew. */
    forget: () => {
      rows.clear();
      order = [];
    },
    take(message: RowsMessage) {
      total = message.total;
      for (const slot of message.removed ?? []) rows.delete(slot);
      for (const row of message.upserts ?? []) rows.set(row.slot, row);
      order = message.order ?? order;
      for (const [place, agoMs] of Object.entries(message.heard ?? {})) {
        const row = rows.get(order[Number(place)] ?? '');
        const lastHeartbeatAtMs = (message.atMs ?? 0) - agoMs;
        if (row) rows.set(row.slot, { ...row, lastHeartbeatAtMs });
      }
    },
    picture: (): Picture => ({ rows: order.flatMap((slot) => rows.get(slot) ?? []), total, atMs }),
  };
}

async function* streamed(flags: MachinesFlags, session: Session): AsyncIterable<Picture> {
  const { client, signal, sleep, say, monotonic } = session;
  const query = { view: 'list', filter: filterOf(flags), sort: flags.sort, limit: flags.limit };
  const model = createModel();
  let lastId: string | null = null;
  let retryMs = RETRY_FIRST_MS;
  let isLost = false;
  let fillingUntilMs = 0;
  while (!signal.aborted) {
    const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
    try {
      const question = { method: 'GET', path: `${API}/stream`, query, headers, signal } as const;
      for await (const { id, event, data } of client.transport.stream(question)) {
        if (isLost) say('the console answers again');
        isLost = false;
        retryMs = RETRY_FIRST_MS;
        lastId = id ?? lastId;
        const body = JSON.parse(data) as Hello;
        if (body.atMs !== undefined) model.moment(body.atMs);
        if (event === 'hello' && body.resume === 'full') {
          const isKnown = model.picture().rows.length > 0;
          // Machines that the console does not know yet are not gone: ask again a little later.
          if (isKnown && body.isWhole === false) break;
          model.forget();
          // A daemon that was just started knows no machines yet: that is no change.
          fillingUntilMs = isKnown ? monotonic() + FILLING_MS : 0;
        }
        if (event === 'rows' || event === 'list') model.take(body as unknown as RowsMessage);
        else if (event !== 'tick') continue;
        const picture = model.picture();
        if (picture.rows.length > 0 || monotonic() >= fillingUntilMs) yield picture;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isAway(error)) throw error;
      if (!isLost) say(`${error.message}; trying again`);
      isLost = true;
    }
    await sleep(retryMs);
    retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
  }
}
