import { z } from 'zod';
import { ProviderError, isProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Locks } from '../../driver-kit/time-limit.ts';
import type { Log } from '../../log/port.ts';
import type { RecordOptions, Records } from '../port.ts';
import type { Server, ServerList } from './api.ts';
import type { RobotClient, Sending } from './client.ts';
import type { RobotConfig } from './settings.ts';
import type { OurKey, Systems } from './systems.ts';

/**
 * What is kept of a server that is ours, under its number: a name has no room for tags, and a creation
 * is many requests. Made before the first of them and dropped after the last of a give-back.
 */
const claimValue = z.object({
  /** Instance set that it belongs to. */
  set: z.string(),
  witness: z.string(),
  phase: z.enum(['claimed', 'rescue', 'installing', 'ready', 'failed', 'leaving', 'wiped']),
  /** What the phases `rescue` and `installing` are for. */
  order: z.enum(['create', 'reinstall']),
  tags: z.record(z.string(), z.string()),
  oldName: z.string(),
  hostname: z.string(),
  /** MD5 of the keys that the rescue system will show; none: Robot did not tell. */
  rescueKeys: z.array(z.string()).readonly(),
  /** `SHA256:…` of the host key of the installed system, when it was first seen; null: not yet. */
  systemKey: z.string().nullable(),
  /** Resets on the way to the rescue system, of all kinds, and those by the button. */
  resets: z.int().nonnegative(),
  hardResets: z.int().nonnegative(),
  /** When the last of them was asked for, epoch milliseconds; null: none was. */
  resetAtMs: z.number().nullable(),
  /** Boot id of what answered just before; null: nothing did. */
  bootBefore: z.string().nullable(),
  /** When the installation was about to be started, epoch milliseconds; null: it was not. */
  startedAtMs: z.number().nullable(),
  /** When the phase began, epoch milliseconds. */
  sinceMs: z.number(),
});
export type ClaimValue = z.output<typeof claimValue>;
/** A claim as it was read. */
export interface Claim extends ClaimValue {
  readonly server: number;
  readonly version: string;
}

/** All claims of one moment, by server number. */
export interface Claims {
  readonly ours: ReadonlyMap<number, Claim>;
  /** Of another instance set, or in a form that we do not know: nothing is done to these servers. */
  readonly untouchable: ReadonlySet<number>;
}

/** Of a claim whose next reset is the first. */
export const NO_RESETS = {
  resets: 0,
  hardResets: 0,
  resetAtMs: null,
  bootBefore: null,
  startedAtMs: null,
} as const;

/** Of a server that nobody claims: nothing was done with it, and nothing is known of its systems. */
export const newClaim = (
  change: Pick<ClaimValue, 'set' | 'witness' | 'phase' | 'oldName' | 'hostname' | 'sinceMs'> &
    Partial<ClaimValue>,
): ClaimValue => ({
  ...{ order: 'create', tags: {}, systemKey: null, rescueKeys: [] },
  ...NO_RESETS,
  ...change,
});

/** When anything was last begun about it, epoch milliseconds. */
export const lastTouchedMs = ({ sinceMs, resetAtMs, startedAtMs }: ClaimValue): number =>
  Math.max(sinceMs, resetAtMs ?? 0, startedAtMs ?? 0);

const SERVER_KEY = /^[1-9]\d*$/;

export function createClaimStore(records: Records, instanceSetId: string) {
  async function all(options: RecordOptions): Promise<Claims> {
    const rows = await records.all(options);
    const ours = new Map<number, Claim>();
    const untouchable = new Set<number>();
    for (const { key, value, version } of rows) {
      if (!SERVER_KEY.test(key)) continue;
      const server = Number(key);
      const read = claimValue.safeParse(value);
      if (read.success && read.data.set === instanceSetId) {
        ours.set(server, { ...read.data, server, version });
      } else untouchable.add(server);
    }
    return { ours, untouchable };
  }

  return {
    all,
    /** @throws {ProviderError} `conflict`: the server is somebody's. */
    async of(server: number, options: RecordOptions): Promise<Claim | null> {
      const { ours, untouchable } = await all(options);
      if (!untouchable.has(server)) return ours.get(server) ?? null;
      throw new ProviderError('conflict', `server ${server} is claimed by another instance set`);
    },
    /** @throws {ProviderError} `race-lost`: somebody was faster. */
    async make(server: number, value: ClaimValue, options: RecordOptions): Promise<Claim> {
      try {
        const version = await records.make(String(server), value, options);
        return { ...value, server, version };
      } catch (cause) {
        if (!isConflict(cause)) throw cause;
        throw new ProviderError('race-lost', `server ${server} was claimed just now`, { cause });
      }
    },
    /** @throws {ProviderError} `transient`, `outcome: 'unknown'`: it was changed since it was read. */
    async change(
      { server, version, ...value }: Claim,
      change: Partial<ClaimValue>,
      options: RecordOptions,
    ): Promise<Claim> {
      const changed = { ...value, ...change };
      const written = records.replace(String(server), changed, version, options);
      return { ...changed, server, version: await written.catch(overtaken(server)) };
    },
    drop: ({ server, version }: Claim, options: RecordOptions): Promise<void> =>
      records.drop(String(server), version, options).catch(overtaken(server)),
  };
}
export type ClaimStore = ReturnType<typeof createClaimStore>;

/** Another daemon does something about it: whoever asks again finds what that led to. */
const overtaken =
  (server: number) =>
  (cause: unknown): never => {
    if (!isConflict(cause)) throw cause;
    throw new ProviderError('transient', `the claim of server ${server} was changed meanwhile`, {
      cause,
      outcome: 'unknown',
    });
  };

const isConflict = (error: unknown): boolean =>
  error instanceof ProviderError && error.kind === 'conflict';

/** What we know of a server by a change of our own counts for so long, whatever a listing says. */
const OWN_WORD_MS = 60_000;
const ENTRY_MS = 60_000;

/** The servers of the account, asked for as seldom as may be. */
export function createServers(
  client: Pick<RobotClient, 'listServers' | 'getServer' | 'rename'>,
  deps: { readonly clock: Pick<Clock, 'monotonic'>; readonly freshMs: () => number },
) {
  const { clock, freshMs } = deps;
  let listed: { readonly list: ServerList; readonly atMs: number } | null = null;
  const own = new Map<number, { readonly server: Server; readonly atMs: number }>();

  const ownWord = (server: number): Server | null => {
    const known = own.get(server);
    if (known && clock.monotonic() - known.atMs < OWN_WORD_MS) return known.server;
    own.delete(server);
    return null;
  };

  const seen = new Map<number, Server>();
  function note(server: Server): Server {
    seen.set(server.number, server);
    own.set(server.number, { server, atMs: clock.monotonic() });
    return server;
  }

  async function read(server: number, how: Sending): Promise<Server> {
    try {
      return note(await client.getServer(server, how));
    } catch (error) {
      if (isProviderError(error, 'not-found')) own.delete(server);
      throw error;
    }
  }

  async function list(how: Sending): Promise<ServerList> {
    if (!listed || clock.monotonic() - listed.atMs >= freshMs()) {
      const atMs = clock.monotonic();
      listed = { list: await client.listServers(how), atMs };
      for (const server of listed.list.servers) seen.set(server.number, server);
    }
    const { list: known } = listed;
    return { ...known, servers: known.servers.map((each) => ownWord(each.number) ?? each) };
  }

  return {
    list,
    /** As it is now. @throws {ProviderError} `not-found`. */
    read,
    /** As it was seen last, however long ago: for what hardly ever changes. @throws {ProviderError} `not-found`. */
    known: async (server: number, how: Sending): Promise<Server> =>
      seen.get(server) ?? read(server, how),
    /** As it was a minute ago at most. @throws {ProviderError} `not-found`. */
    async get(server: number, how: Sending): Promise<Server> {
      const known = ownWord(server);
      if (known) return known;
      const isFresh = listed && clock.monotonic() - listed.atMs < ENTRY_MS;
      const entry = isFresh ? listed?.list.servers.find(({ number }) => number === server) : null;
      return entry ?? read(server, how);
    },
    /**
     * Renames a server. Answers with it as Robot says that it is now, which may be by another name.
     * @throws {ProviderError} `transient`, `outcome: 'unknown'`: nobody knows, and it has not the name.
     */
    async rename(server: number, name: string, how: Sending): Promise<Server> {
      try {
        return note(await client.rename(server, name, how));
      } catch (error) {
        if (!isProviderError(error) || error.outcome !== 'unknown') throw error;
        const now = await read(server, how);
        if (now.name === name) return now;
        throw new ProviderError('transient', `server ${server} may yet be renamed`, {
          cause: error,
          outcome: 'unknown',
        });
      }
    },
  };
}
export type Servers = ReturnType<typeof createServers>;

/** What every part of the driver works with. */
export interface Parts {
  readonly config: RobotConfig;
  readonly client: RobotClient;
  readonly servers: Servers;
  readonly claims: ClaimStore;
  readonly systems: Systems;
  readonly ourKey: OurKey;
  readonly clock: Clock;
  readonly log: Log;
  /** By server: what goes to the rescue system goes there one after the other. */
  readonly locks: Locks;
}

/** For the error of whoever is called off before it has the lock. */
export const WAITING = 'another change of the server was under way';
/** Time that a machine needs before a look at it tells anything. */
export const RESET_FLOOR_MS = 15_000;
export const LOOK_GAP_MS = 10_000;
