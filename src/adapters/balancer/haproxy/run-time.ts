import type { ServerMode } from '../../../domain/balancing/objects.ts';
import { RemoteFailure, Unreachable } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import { pause, type Master } from './master.ts';
import { endOf, nameOf, CHECKED, type End, type FileServer } from './pool-file.ts';
import {
  isServer,
  type Row,
  type RunTime,
  runTimeOf,
  type Servers,
  serversIn,
  type Session,
  sessionsIn,
  tableOf,
} from './tables.ts';

/** Desired change of a server. */
export interface ServerChange {
  readonly backend: string;
  readonly name: string;
  /** Null: remove it with all its connections. A missing server is already removed. */
  readonly wanted: FileServer | null;
}

export type RunTimes = ReturnType<typeof createRunTimes>;

const GONE_MS = 10_000;
const LOOK_EVERY_MS = 50;
const ATTEMPTS_MAX = 5;
const RESTLESS = 'HAProxy replaces one worker after the other';

/** Changes servers at run time. All methods are idempotent. */
export function createRunTimes(master: Master, clock: Clock) {
  /** Sends a command to the worker that accepts connections at that moment. */
  async function tell(command: string, signal: AbortSignal): Promise<string> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const { worker } = await master.processes(signal);
      const answer = await master.tell(worker, command, signal);
      if (answer !== null) return answer;
    }
    throw new Unreachable(RESTLESS);
  }

  /** @throws {RemoteFailure} it answers anything. */
  async function silently(command: string, signal: AbortSignal): Promise<void> {
    const answer = await tell(command, signal);
    if (answer !== '') throw new RemoteFailure(`HAProxy refuses "${command}": ${answer}`);
  }

  const servers = async (signal: AbortSignal) =>
    serversIn(await tell('show servers state', signal));

  async function serverNow(backend: string, name: string, signal: AbortSignal) {
    return (await servers(signal)).get(backend)?.get(name);
  }

  /** Connections of each worker with servers. */
  async function sessions(signal: AbortSignal) {
    const { worker, old } = await master.processes(signal);
    const found: (Session & { readonly worker: number })[] = [];
    for (const pid of [worker, ...old]) {
      const answer = await master.tell(pid, 'show sess', signal);
      for (const each of sessionsIn(answer ?? '')) found.push({ ...each, worker: pid });
    }
    return found;
  }

  /** Requests the end of all connections of these servers. @returns how many there were. */
  async function endSessions(paths: ReadonlySet<string>, signal: AbortSignal): Promise<number> {
    const own = (await sessions(signal)).filter(({ path }) => paths.has(path));
    for (const worker of new Set(own.map((each) => each.worker))) {
      const ids = own.filter((each) => each.worker === worker).map(({ id }) => id);
      // An old worker refuses `shutdown sessions server`, because its proxies are closed.
      const commands = ids.map((id) => `shutdown session ${id}`);
      await master.tellAll(worker, commands, signal);
    }
    return own.length;
  }

  async function cut(path: string, signal: AbortSignal): Promise<void> {
    const endsAt = clock.monotonic() + GONE_MS;
    while ((await endSessions(new Set([path]), signal)) > 0) {
      if (clock.monotonic() > endsAt) {
        throw new RemoteFailure(`connections of ${path} could not be ended`);
      }
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  async function have(path: string, wanted: FileServer, signal: AbortSignal): Promise<void> {
    const { address, number } = wanted;
    const [backend, name] = path.split('/') as [string, string];
    for (let attempt = 1; ; attempt += 1) {
      const found = await serverNow(backend, name, signal);
      if (!found) {
        const said = await tell(addition(path, wanted), signal);
        if (!/^(New server registered|Already exists a server)/.test(said)) {
          throw new RemoteFailure(`HAProxy refuses ${path}: ${said}`);
        }
        await silently(`enable health ${path}`, signal);
      } else if (!isAt(found, wanted)) {
        endOf(address, number);
        await tell(`set server ${path} addr ${address} port ${number}`, signal);
      }
      await setMode(path, wanted.mode, signal);
      // After somebody else's reload, the new worker has it from the file.
      const now = await serverNow(backend, name, signal);
      if (now?.mode === wanted.mode && isAt(now, wanted)) return;
      if (attempt === ATTEMPTS_MAX) {
        throw new RemoteFailure(`HAProxy does not set ${path} to ${wanted.mode}`);
      }
    }
  }

  async function remove(path: string, signal: AbortSignal): Promise<void> {
    const endsAt = clock.monotonic() + GONE_MS;
    for (;;) {
      const said = await tell(`set server ${path} state maint`, signal);
      if (GONE.test(said)) return cut(path, signal);
      await endSessions(new Set([path]), signal);
      const end = await tell(`del server ${path}`, signal);
      if (end === 'Server deleted.' || GONE.test(end)) return cut(path, signal);
      if (!BUSY.test(end) || clock.monotonic() > endsAt) {
        throw new RemoteFailure(`HAProxy does not delete ${path}: ${end}`);
      }
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  async function setMode(path: string, mode: ServerMode, signal: AbortSignal): Promise<void> {
    const commands = modeCommands(path, mode);
    for (const command of commands.slice(0, -1)) await tell(command, signal);
    await silently(commands.at(-1)!, signal);
  }

  /** Ends connections of many servers, in a few attempts. @returns servers that still have some. */
  async function cutAll(paths: ReadonlySet<string>, signal: AbortSignal) {
    for (let attempt = 1; paths.size > 0 && attempt <= ATTEMPTS_MAX; attempt += 1) {
      if ((await endSessions(paths, signal)) === 0) return NOBODY;
      await pause(clock, LOOK_EVERY_MS, signal);
    }
    return paths.size > 0 ? new Set((await sessions(signal)).map(({ path }) => path)) : NOBODY;
  }

  return {
    /** Only the existing servers. */
    servers,
    /**
     * Reads everything. Connections are counted over all workers: those from before a reload still
     * have some, which no other command of the current worker shows.
     */
    async read(signal: AbortSignal): Promise<RunTime> {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const { worker, old } = await master.processes(signal);
        const there = await servers(signal);
        const stats = await master.tell(worker, 'show stat', signal);
        if (stats === null) continue;
        const rows = tableOf(stats, ',', 'pxname');
        const counts = new Map<string, number>();
        const count = (row: Row) => {
          const key = `${row['pxname']}/${row['svname']}`;
          counts.set(key, (counts.get(key) ?? 0) + Number(row['scur']));
        };
        for (const pid of old) {
          const answer = await master.tell(pid, 'show stat', signal);
          if (answer !== null) tableOf(answer, ',', 'pxname').filter(isServer).forEach(count);
        }
        rows.filter(isServer).forEach(count);
        return runTimeOf(rows, there, counts);
      }
      throw new Unreachable(RESTLESS);
    },
    /**
     * Applies a server's desired state. Connections of a server that is `off` or removed are ended
     * in every worker, and awaited. @throws {RemoteFailure} HAProxy refuses, with its reason.
     */
    async make(change: ServerChange, signal: AbortSignal): Promise<void> {
      const path = pathOf(change);
      if (change.wanted === null) return remove(path, signal);
      await have(path, change.wanted, signal);
      if (change.wanted.mode === 'off') await cut(path, signal);
    },
    /** Applies many with few commands. @returns the successful ones; `make` must do the others. */
    async makeAll(
      changes: readonly ServerChange[],
      signal: AbortSignal,
    ): Promise<ReadonlySet<ServerChange>> {
      const before = await servers(signal);
      const say = async (commands: readonly string[]) => {
        if (commands.length === 0) return;
        const { worker } = await master.processes(signal);
        await master.tellAll(worker, commands, signal);
      };
      await say(changes.flatMap((each) => commandsFor(each, before)));
      const gone = changes.filter(({ wanted }) => wanted === null).map(pathOf);
      const off = changes.filter(({ wanted }) => wanted?.mode === 'off').map(pathOf);
      await cutAll(new Set([...gone, ...off]), signal);
      await say(gone.map((path) => `del server ${path}`));
      const left = await cutAll(new Set([...gone, ...off]), signal);
      const now = await servers(signal);
      return new Set(changes.filter((each) => isMade(each, now, left)));
    },
  };
}

const NOBODY: ReadonlySet<string> = new Set();

/** Whether a server has its desired state, by the existing and the busy servers. */
function isMade(change: ServerChange, there: Servers, busy: ReadonlySet<string>): boolean {
  const { backend, name, wanted } = change;
  const found = there.get(backend)?.get(name);
  if (wanted === null) return found === undefined && !busy.has(pathOf(change));
  if (found?.mode !== wanted.mode || !isAt(found, wanted)) return false;
  return wanted.mode !== 'off' || !busy.has(pathOf(change));
}

/** Commands for a server's desired state; for a removal, the first of them. */
function commandsFor(change: ServerChange, there: Servers): readonly string[] {
  const { backend, name, wanted } = change;
  const path = pathOf(change);
  const found = there.get(backend)?.get(name);
  if (wanted === null) return found ? modeCommands(path, 'off') : [];
  const { address, number, mode } = wanted;
  endOf(address, number);
  if (!found) {
    return [addition(path, wanted), `enable health ${path}`, ...modeCommands(path, mode)];
  }
  const move = isAt(found, wanted) ? [] : [`set server ${path} addr ${address} port ${number}`];
  return [...move, ...modeCommands(path, mode)];
}

const pathOf = ({ backend, name }: ServerChange): string => `${nameOf(backend)}/${nameOf(name)}`;
const isAt = (one: End, other: End): boolean =>
  one.address === other.address && one.number === other.number;
const addition = (path: string, { address, number }: End): string =>
  `add server ${path} ${endOf(address, number)} ${CHECKED} weight 1`;

/** On success, the last command has an empty answer. */
function modeCommands(path: string, mode: ServerMode): readonly string[] {
  const state = (name: string) => `set server ${path} state ${name}`;
  if (mode === 'active') return [`set server ${path} weight 1`, state('ready')];
  return [state(mode === 'drain' ? 'drain' : 'maint')];
}

const GONE = /^No such (server|backend)\./;
const BUSY = /^(Server still has connections|Only servers in maintenance)/;
