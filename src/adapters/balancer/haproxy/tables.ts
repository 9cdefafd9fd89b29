import {
  keyOf,
  type PoolRef,
  type ServerMode,
  type ServerReading,
} from '../../../domain/balancing/objects.ts';
import { canonicalAddress } from '../../../domain/balancing/pools.ts';
import { Malformed, RemoteFailure } from '../../../domain/errors.ts';
import {
  emptyFile,
  listed,
  putInto,
  readEnd,
  objectOf,
  serverOf,
  type End,
  type FileServer,
  type PoolFile,
} from './pool-file.ts';
import { createServer } from 'node:net';

/** State of the running program. */
export interface RunTime {
  /** Servers of each backend by name; a missing backend has no entry. */
  readonly backends: ReadonlyMap<string, ReadonlyMap<string, RunningServer>>;
  /** Binds of each frontend by name; null: HAProxy does not report its address. */
  readonly frontends: ReadonlyMap<string, ReadonlyMap<string, End | null>>;
}
export interface RunningServer extends End, Required<ServerReading> {}

/** Servers of the running program, by backend and name. */
export type Servers = ReadonlyMap<string, ReadonlyMap<string, FileServer>>;

export type Row = Readonly<Record<string, string>>;

/** Rows by the column names of the first line, which differ between versions of HAProxy. */
export function tableOf(text: string, separator: string, known: string): Row[] {
  const [head = '', ...lines] = text.replace(/^1\n/, '').split('\n');
  const names = head.replace(/^# /, '').split(separator);
  if (!names.includes(known)) {
    throw new Malformed(`HAProxy answered "${head.slice(0, 80)}" instead of a table`);
  }
  return lines.filter(Boolean).map((line) => {
    const fields = separator === ',' ? fieldsOf(line) : line.split(separator);
    return Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
  });
}

/** Fields of one CSV line; a field with a comma is quoted. */
const fieldsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );

/** Types of rows in `show stat`. */
const [FRONTEND, BACKEND, SERVER, LISTENER] = ['0', '1', '2', '3'];
export const isServer = (row: Row): boolean => row['type'] === SERVER;

export function runTimeOf(
  rows: readonly Row[],
  servers: Servers,
  sessions: ReadonlyMap<string, number>,
): RunTime {
  const backends = new Map<string, Map<string, RunningServer>>();
  const frontends = new Map<string, Map<string, End | null>>();
  for (const row of rows) {
    const [proxy, name] = [row['pxname']!, row['svname']!];
    if (row['type'] === BACKEND && !backends.has(proxy)) backends.set(proxy, new Map());
    if (row['type'] === FRONTEND && !frontends.has(proxy)) frontends.set(proxy, new Map());
    if (row['type'] === LISTENER) {
      const binds = frontends.get(proxy) ?? new Map<string, End | null>();
      frontends.set(proxy, binds.set(name, readEnd(row['addr'] ?? '')));
    }
    const state = servers.get(proxy)?.get(name);
    if (!isServer(row) || !state) continue;
    const of = backends.get(proxy) ?? new Map<string, RunningServer>();
    const counted = sessions.get(`${proxy}/${name}`) ?? 0;
    backends.set(proxy, of.set(name, { ...state, health: healthOf(row), sessions: counted }));
  }
  return { backends, frontends };
}

/** Parses `show servers state`. */
export function serversIn(answer: string): Servers {
  const servers = new Map<string, Map<string, FileServer>>();
  for (const row of tableOf(answer, ' ', 'be_name')) {
    const of = servers.get(row['be_name']!) ?? new Map<string, FileServer>();
    const address = canonicalAddress(row['srv_addr']!) ?? row['srv_addr']!;
    of.set(row['srv_name']!, { address, number: Number(row['srv_port']), mode: modeOf(row) });
    servers.set(row['be_name']!, of);
  }
  return servers;
}

/** Bits of `srv_admin_state`: maintenance by command, by a tracked server, by the resolver; drain. */
const MAINTENANCE = 0x01 | 0x02 | 0x20;
const DRAIN = 0x08 | 0x10;

function modeOf(row: Row): ServerMode {
  const state = Number(row['srv_admin_state']);
  if ((state & MAINTENANCE) !== 0) return 'off';
  return (state & DRAIN) !== 0 || row['srv_uweight'] === '0' ? 'drain' : 'active';
}

/** During a check, a star precedes the last result. */
function healthOf(row: Row): Required<ServerReading>['health'] {
  const status = (row['check_status'] ?? '').replace(/^\* /, '');
  if (status === '' || status === 'INI' || status === 'UNK') return 'unknown';
  return Number(row['check_health']) >= Number(row['check_rise']) ? 'up' : 'down';
}

/** A connection between a worker and a server. */
export interface Session {
  readonly id: string;
  /** `<backend>/<server>`. */
  readonly path: string;
}

export function sessionsIn(answer: string): Session[] {
  return answer.split('\n').flatMap((line) => {
    const [, id, backend, server] = /^(0x[0-9a-f]+):.* be=(\S+) srv=(\S+) /.exec(line) ?? [];
    return id === undefined ? [] : [{ id, path: `${backend}/${server}` }];
  });
}

/**
 * What the running program serves of a pool, as a pool file; null: nothing. If the file is lost,
 * its first change writes all of it, so that no reload drops what is served. HAProxy does not
 * report how a backend is checked, so each gets a connect check until it is updated.
 * @throws {RemoteFailure} HAProxy does not report enough.
 */
export function servedFile(owner: PoolRef, running: RunTime): PoolFile | null {
  const { pool } = owner;
  const file = emptyFile();
  for (const [name, servers] of running.backends) {
    if (!isOf(owner, name)) continue;
    putInto(file, objectOf({ kind: 'backend', name, check: { by: 'tcp' } }, null));
    for (const [server, reading] of servers) {
      if (canonicalAddress(reading.address) === null)
        throw untold(pool, `server ${name}/${server}`);
      putInto(file, serverOf(name, server, reading));
    }
  }
  for (const [name, binds] of running.frontends) {
    if (!isOf(owner, name)) continue;
    // Frontend and backend of a port have the same name, and HAProxy does not report which backend
    // is used.
    if (!file.has(keyOf('backend', name))) throw untold(pool, `frontend ${name}`);
    putInto(file, objectOf({ kind: 'frontend', name }, name));
    for (const [bind, end] of binds) {
      if (end === null) throw untold(pool, `bind ${name}/${bind}`);
      putInto(file, objectOf({ kind: 'bind', name: bind, ...end }, name));
    }
  }
  return listed(file, 'backend').length > 0 ? file : null;
}

/** Whether a frontend or backend with this name is the pool's. */
export const isOf = ({ suffix }: PoolRef, name: string): boolean =>
  name.slice(name.indexOf('.') + 1) === suffix;

const untold = (pool: string, what: string): RemoteFailure =>
  new RemoteFailure(
    `HAProxy serves pool ${pool} without its files, and does not report enough about ${what} to ` +
      'write them again; restore the files, or reload HAProxy without them',
  );

const ALL = ['0.0.0.0', '::'];
/** Whether two listeners conflict: the same address, or one that means all addresses. */
const meets = (one: End, other: End): boolean =>
  one.number === other.number &&
  (one.address === other.address || [one, other].some(({ address }) => ALL.includes(address)));

/**
 * New listeners, which HAProxy does not have yet. The running program reports its listeners,
 * whoever configured them: a test bind would take its own listener for another program's, and
 * refuse the pool forever.
 */
export function newEnds(
  pools: readonly { readonly owner: PoolRef; readonly file: PoolFile }[],
  running: RunTime,
): End[] {
  const known = [...running.frontends].flatMap(([name, binds]) =>
    pools.some(({ owner }) => isOf(owner, name))
      ? [...binds.values()].filter((end) => end !== null)
      : [],
  );
  return pools
    .flatMap(({ file }) => listed(file, 'bind').map(({ spec }): End => spec))
    .filter((end) => !known.some((each) => meets(each, end)));
}

/**
 * During a reload, HAProxy notices too late that it cannot listen, and accepts nobody meanwhile. So
 * this tests the bind first: HAProxy runs on the same machine. Ports that we may not bind are not
 * tested.
 */
export async function requireFree(ends: readonly End[]): Promise<void> {
  for (const { address, number } of ends) {
    await new Promise<void>((resolve, reject) => {
      const server = createServer();
      server.once('error', (cause: NodeJS.ErrnoException) => {
        const isTaken = cause.code === 'EADDRINUSE' || cause.code === 'EADDRNOTAVAIL';
        const why = `HAProxy cannot listen at ${address} port ${number} (${cause.code})`;
        if (isTaken) reject(new RemoteFailure(why, { cause }));
        else resolve();
      });
      server.listen({ host: address, port: number, exclusive: true }, () =>
        server.close(() => resolve()),
      );
    });
  }
}
