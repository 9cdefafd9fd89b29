import { explain, FleetError } from '../../domain/errors.ts';
import { jsonLine, plainCell } from '../layout.ts';
import type { When } from '../options.ts';
import type { Log } from './answers.ts';
import type { Client } from './client.ts';
import { EXIT_FAILED, interruptOf, isAway } from './failures.ts';
import { clientOf, livingDaemons } from './log.ts';
import { named } from './names.ts';
import { isData } from './output.ts';
import type { Session, CommandOutput } from './session.ts';
import { momentOf } from './verbs.ts';

export interface LogsFlags {
  readonly level: string;
  readonly tail?: number;
  readonly since?: When;
  readonly follow: boolean;
  /** Ask every daemon that is alive, not only the daemon that answers. */
  readonly all: boolean;
}

/** A daemon whose log is read. */
interface Source {
  readonly where: string;
  /** Null: it cannot be asked, and `failure` says why. */
  readonly client: Client | null;
  after: number;
  sessionId: string | null;
  failure: string | null;
}

type LogLine = Log['records'][number] & { readonly host: string };

const LOOK_MS = 1_000;
const SHOWN = 200;
const SHOWN_BEFORE_FOLLOWING = 10;
const RECORDS_MAX = 1_000;

/**
 * `shepherd logs`: the latest log lines of daemons, about one machine if a machine is named. Each console has
 * only the log of its own daemon. Exit status 1: a daemon could not be asked.
 */
export async function showLogs(
  session: Session,
  flags: LogsFlags,
  machine?: string,
): Promise<CommandOutput> {
  const { client, format, signal, sleep, write } = session;
  const about = machine === undefined ? null : await named(client, machine, false);
  const { since, follow, tail = follow ? SHOWN_BEFORE_FOLLOWING : SHOWN } = flags;
  const query = {
    level: flags.level,
    ...(about && { slot: about.slot, machine: about.machineId ?? undefined }),
    ...(since && {
      sinceMs: Math.round('atMs' in since ? since.atMs : (await momentOf(client)) - since.forMs),
    }),
  };
  const sources = await sourcesOf(flags.all, session);
  // Why each of them cannot be asked was said.
  if (follow && sources.every((source) => source.client === null))
    return { text: '', exitCode: EXIT_FAILED };
  const lines = await readAll(sources, { ...query, limit: tail }, session);
  if (!follow) {
    const failures = failuresOf(sources);
    return {
      document: { records: lines, failures },
      rows: lines,
      text: lines.map((line) => lineText(line, flags.all)).join('\n'),
      exitCode: failures.length > 0 ? EXIT_FAILED : 0,
    };
  }
  for (let fresh = lines; !signal.aborted;) {
    for (const line of fresh) {
      write(`${isData(format) ? jsonLine(line) : lineText(line, flags.all)}\n`);
    }
    // A full page has a next page.
    if (fresh.length < RECORDS_MAX) await sleep(LOOK_MS);
    if (signal.aborted) break;
    fresh = await readAll(sources, { ...query, limit: RECORDS_MAX }, session);
  }
  return { text: '' };
}

/** The latest lines of every daemon that can be asked, and why others cannot be asked. */
export async function readLogs(session: Session, limit: number) {
  const silent = { ...session, say: () => undefined };
  const sources = await sourcesOf(true, silent);
  return { lines: await readAll(sources, { limit }, silent), failures: failuresOf(sources) };
}

const failuresOf = (sources: readonly Source[]) =>
  sources.flatMap(({ where, failure }) => (failure === null ? [] : [{ where, failure }]));

/** The daemons whose logs are read. Says which daemons are left out. */
async function sourcesOf(all: boolean, session: Session): Promise<Source[]> {
  const { client, say } = session;
  const daemons = await livingDaemons(client);
  const source = (where: string, own: Client | null, failure: string | null): Source => ({
    ...{ where, client: own, failure, after: 0, sessionId: null },
  });
  if (all) {
    return daemons.map((daemon) => {
      const where = `daemon on ${daemon.host ?? daemon.runtimeInfo}`;
      try {
        return source(where, clientOf(daemon, daemons, session), null);
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        say(`${where}: ${explain(error)}`);
        return source(where, null, explain(error));
      }
    });
  }
  const others = daemons.filter(({ isSelf }) => !isSelf);
  if (others.length > 0) {
    const names = others.map(({ host, runtimeInfo }) => host ?? runtimeInfo).join(', ');
    say(`this is the log of one daemon; --all also asks the daemons on ${names}`);
  }
  return [source(client.transport.where, client, null)];
}

/** Reads what is new at each source, in the order of time. A source that does not answer is asked again later. */
async function readAll(
  sources: readonly Source[],
  query: Readonly<Record<string, string | number | undefined>>,
  { say, signal }: Session,
): Promise<LogLine[]> {
  const isAlone = sources.length === 1;
  const read = async (source: Source): Promise<LogLine[]> => {
    if (source.client === null) return [];
    try {
      const { after } = source;
      const page = await source.client.get<Log>('/log', { ...query, after });
      const { daemon, records, newest, lost } = page;
      if (source.failure !== null) say(`${source.where} answers again`);
      source.failure = null;
      if (source.sessionId !== null && daemon.sessionId !== source.sessionId) {
        say(`from here on: the log of the daemon on ${daemon.host}, session ${daemon.sessionId}`);
      }
      if (lost > 0) {
        say(
          `${source.where}: ${lost} log lines were dropped before they could be read; the daemon's own log has them`,
        );
      }
      Object.assign(source, { after: newest, sessionId: daemon.sessionId });
      return records.map((record) => ({ ...record, host: daemon.host }));
    } catch (error) {
      if (signal.aborted) throw interruptOf(signal);
      if (!(error instanceof FleetError)) throw error;
      if (isAlone && (source.sessionId === null || !isAway(error))) throw error;
      if (source.failure === null) say(`${source.where}: ${explain(error)}`);
      source.failure = explain(error);
      return [];
    }
  };
  const found = (await Promise.all(sources.map(read))).flat();
  return found.toSorted((one, other) => one.atMs - other.atMs);
}

function lineText(
  { atMs, level, component, message, fields, host }: LogLine,
  isOfSeveral: boolean,
) {
  const told = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name}=${/[\s"]/.test(text) ? JSON.stringify(text) : text}`;
  });
  const head = [new Date(atMs).toISOString(), level.padEnd(5), ...(isOfSeveral ? [host] : [])];
  return plainCell([...head, `${component ?? 'daemon'}:`, message, ...told].join(' '));
}
