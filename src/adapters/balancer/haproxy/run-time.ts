import type { ServerMode, ServerReading } from '../../../domain/balancing/objects.ts';
import { canonicalAddress } from '../../../domain/balancing/addresses.ts';
import { Malformed, RemoteFailure, Unreachable } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import { type Master, pause } from './master.ts';
import { endOf, nameOf } from './names.ts';
import { CHECKED, type End, type FileServer } from './pool-file.ts';

/** What the running program has. */
export interface RunTime {
  /** Servers of each backend by name; a backend that is not there is not in it. */
  readonly backends: ReadonlyMap<string, ReadonlyMap<string, RunningServer>>;
  /** Binds of each frontend by name. */
  readonly frontends: ReadonlyMap<string, ReadonlySet<string>>;
}
export interface RunningServer extends End, Required<ServerReading> {}

/** Changes servers while the program runs. All of it may be done twice. */
export interface RunTimes {
  /**
   * Everything that there is. Connections are counted over all workers: those of before a reload still
   * have theirs, though no other command of the current one shows it.
   */
  read(signal: AbortSignal): Promise<RunTime>;
  /** Makes a server as the file has it. @throws {RemoteFailure} HAProxy refuses, and says why. */
  have(backend: string, name: string, wanted: FileServer, signal: AbortSignal): Promise<void>;
  /** Ends a server's connections in every worker, and waits until they are gone. */
  cut(backend: string, name: string, signal: AbortSignal): Promise<void>;
  /** Takes a server away with all its connections. One that is not there is gone already. */
  remove(backend: string, name: string, signal: AbortSignal): Promise<void>;
}

const GONE_MS = 10_000;
const LOOK_EVERY_MS = 50;
const ATTEMPTS_MAX = 5;

export function createRunTimes(master: Master, clock: Clock): RunTimes {
  /** Says something to the worker that takes connections, whichever that is by then. */
  async function tell(command: string, signal: AbortSignal): Promise<string> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const { worker } = await master.processes(signal);
      const answer = await master.tell(worker, command, signal);
      if (answer !== null) return answer;
    }
    throw new Unreachable('HAProxy starts one worker after the other');
  }

  /** @throws {RemoteFailure} it answers anything. */
  async function silently(command: string, signal: AbortSignal): Promise<void> {
    const answer = await tell(command, signal);
    if (answer !== '') throw new RemoteFailure(`HAProxy refuses "${command}": ${answer}`);
  }

  async function readServers(signal: AbortSignal) {
    const state = tableOf(await tell('show servers state', signal), ' ', 'be_name');
    const servers = new Map<string, Map<string, End & { mode: ServerMode }>>();
    for (const row of state) {
      const of = servers.get(row['be_name']!) ?? new Map<string, End & { mode: ServerMode }>();
      const address = canonicalAddress(row['srv_addr']!) ?? row['srv_addr']!;
      of.set(row['srv_name']!, { address, number: Number(row['srv_port']), mode: modeOf(row) });
      servers.set(row['be_name']!, of);
    }
    return servers;
  }

  async function modeNow(backend: string, name: string, signal: AbortSignal) {
    return (await readServers(signal)).get(backend)?.get(name);
  }

  async function endSessions(backend: string, name: string, signal: AbortSignal): Promise<number> {
    const { worker, old } = await master.processes(signal);
    let left = 0;
    for (const pid of [worker, ...old]) {
      const answer = await master.tell(pid, 'show sess', signal);
      // An old worker refuses `shutdown sessions server`, since its proxies are closed.
      for (const id of sessionsIn(answer ?? '', backend, name)) {
        left += 1;
        await master.tell(pid, `shutdown session ${id}`, signal);
      }
    }
    return left;
  }

  async function cut(backend: string, name: string, signal: AbortSignal): Promise<void> {
    const endsAt = clock.monotonic() + GONE_MS;
    while ((await endSessions(backend, name, signal)) > 0) {
      if (clock.monotonic() > endsAt) {
        throw new RemoteFailure(`connections of ${name} cannot be ended`);
      }
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  return {
    cut,
    async read(signal) {
      const { worker, old } = await master.processes(signal);
      const servers = await readServers(signal);
      const stats = await master.tell(worker, 'show stat', signal);
      if (stats === null) throw new Unreachable('HAProxy was just loaded anew');
      const rows = tableOf(stats, ',', 'pxname');
      const sessions = new Map<string, number>();
      const count = (row: Row) => {
        const key = `${row['pxname']}/${row['svname']}`;
        sessions.set(key, (sessions.get(key) ?? 0) + Number(row['scur']));
      };
      for (const pid of old) {
        const answer = await master.tell(pid, 'show stat', signal);
        if (answer !== null) tableOf(answer, ',', 'pxname').filter(isServer).forEach(count);
      }
      rows.filter(isServer).forEach(count);
      return runTimeOf(rows, servers, sessions);
    },
    async have(backend, name, wanted, signal) {
      const path = `${nameOf(backend)}/${nameOf(name)}`;
      const { address, number } = wanted;
      for (let attempt = 1; ; attempt += 1) {
        const found = await modeNow(backend, name, signal);
        if (!found) {
          const said = await tell(
            `add server ${path} ${endOf(address, number)} ${CHECKED} weight 1`,
            signal,
          );
          if (!/^(New server registered|Already exists a server)/.test(said)) {
            throw new RemoteFailure(`HAProxy does not take ${path}: ${said}`);
          }
          await silently(`enable health ${path}`, signal);
        } else if (found.address !== address || found.number !== number) {
          endOf(address, number);
          await tell(`set server ${path} addr ${address} port ${number}`, signal);
        }
        await setMode(path, wanted.mode, signal);
        // Somebody else's reload may have come between: then the new worker has it from the file.
        const now = await modeNow(backend, name, signal);
        if (now?.mode === wanted.mode && now.address === address && now.number === number) return;
        if (attempt === ATTEMPTS_MAX) {
          throw new RemoteFailure(`HAProxy does not make ${path} ${wanted.mode}`);
        }
      }
    },
    async remove(backend, name, signal) {
      const path = `${nameOf(backend)}/${nameOf(name)}`;
      const endsAt = clock.monotonic() + GONE_MS;
      for (;;) {
        const said = await tell(`set server ${path} state maint`, signal);
        if (GONE.test(said)) return cut(backend, name, signal);
        await endSessions(backend, name, signal);
        const end = await tell(`del server ${path}`, signal);
        if (end === 'Server deleted.' || GONE.test(end)) return cut(backend, name, signal);
        if (!BUSY.test(end) || clock.monotonic() > endsAt) {
          throw new RemoteFailure(`HAProxy does not delete ${path}: ${end}`);
        }
        await pause(clock, LOOK_EVERY_MS, signal);
      }
    },
  };

  async function setMode(path: string, mode: ServerMode, signal: AbortSignal): Promise<void> {
    if (mode === 'active') {
      await tell(`set server ${path} weight 1`, signal);
      await silently(`set server ${path} state ready`, signal);
    } else if (mode === 'drain') {
      await silently(`set server ${path} state drain`, signal);
    } else {
      await silently(`set server ${path} state maint`, signal);
    }
  }
}

const GONE = /^No such (server|backend)\./;
const BUSY = /^(Server still has connections|Only servers in maintenance)/;

type Row = Readonly<Record<string, string>>;

/** Rows by the names of the first line, which says which columns this version of HAProxy has. */
function tableOf(text: string, separator: string, known: string): Row[] {
  const [head = '', ...lines] = text.replace(/^1\n/, '').split('\n');
  const names = head.replace(/^# /, '').split(separator);
  if (!names.includes(known)) {
    throw new Malformed(`HAProxy answers "${head.slice(0, 80)}" instead of a table`);
  }
  return lines.filter(Boolean).map((line) => {
    const fields = separator === ',' ? fieldsOf(line) : line.split(separator);
    return Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
  });
}

/** Fields of one line of CSV; those with a comma in them are in quotes. */
const fieldsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );

/** Types of rows in `show stat`. */
const [FRONTEND, BACKEND, SERVER, LISTENER] = ['0', '1', '2', '3'];
const isServer = (row: Row): boolean => row['type'] === SERVER;

function runTimeOf(
  rows: readonly Row[],
  servers: ReadonlyMap<string, ReadonlyMap<string, End & { mode: ServerMode }>>,
  sessions: ReadonlyMap<string, number>,
): RunTime {
  const backends = new Map<string, Map<string, RunningServer>>();
  const frontends = new Map<string, Set<string>>();
  for (const row of rows) {
    const [proxy, name] = [row['pxname']!, row['svname']!];
    if (row['type'] === BACKEND && !backends.has(proxy)) backends.set(proxy, new Map());
    if (row['type'] === FRONTEND && !frontends.has(proxy)) frontends.set(proxy, new Set());
    if (row['type'] === LISTENER) {
      const binds = frontends.get(proxy) ?? new Set();
      frontends.set(proxy, binds.add(name));
    }
    const state = servers.get(proxy)?.get(name);
    if (!isServer(row) || !state) continue;
    const of = backends.get(proxy) ?? new Map<string, RunningServer>();
    const counted = sessions.get(`${proxy}/${name}`) ?? 0;
    backends.set(proxy, of.set(name, { ...state, health: healthOf(row), sessions: counted }));
  }
  return { backends, frontends };
}

/** Bits of `srv_admin_state`: maintenance by command, by a tracked server, by the resolver; drain. */
const MAINTENANCE = 0x01 | 0x02 | 0x20;
const DRAIN = 0x08 | 0x10;

function modeOf(row: Row): ServerMode {
  const state = Number(row['srv_admin_state']);
  if ((state & MAINTENANCE) !== 0) return 'off';
  return (state & DRAIN) !== 0 || row['srv_uweight'] === '0' ? 'drain' : 'active';
}

/** A check that runs is shown with a star before what the last one found. */
function healthOf(row: Row): Required<ServerReading>['health'] {
  const status = (row['check_status'] ?? '').replace(/^\* /, '');
  if (status === '' || status === 'INI' || status === 'UNK') return 'unknown';
  return Number(row['check_health']) >= Number(row['check_rise']) ? 'up' : 'down';
}

/** Ids of the sessions that a worker has with a server. */
function sessionsIn(answer: string, backend: string, name: string): string[] {
  return answer.split('\n').flatMap((line) => {
    const [, id, be, srv] = /^(0x[0-9a-f]+):.* be=(\S+) srv=(\S+) /.exec(line) ?? [];
    return id !== undefined && be === backend && srv === name ? [id] : [];
  });
}
