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
 * Record of our server, under its number: a name has no room for tags, and a creation takes many
 * requests. Created before the first of them, and dropped after the last of a give-back.
 */
const claimValue = z.object({
  /** Owning instance set. */
  set: z.string(),
  witness: z.string(),
  phase: z.enum(['claimed', 'rescue', 'installing', 'ready', 'failed', 'leaving', 'wiped']),
  /** Purpose of the phases `rescue` and `installing`. */
  order: z.enum(['create', 'reinstall']),
  tags: z.record(z.string(), z.string()),
  oldName: z.string(),
  hostname: z.string(),
  /** MD5 of the rescue system's expected keys; empty if Robot reported none. */
  rescueKeys: z.array(z.string()).readonly(),
  /** `SHA256:…` of the installed system's host key when first seen; null: not seen yet. */
  systemKey: z.string().nullable(),
  /** Resets on the way to the rescue system: all kinds, and those by the button. */
  resets: z.int().nonnegative(),
  hardResets: z.int().nonnegative(),
  /** Time of the last reset request, epoch milliseconds; null: none. */
  resetAtMs: z.number().nullable(),
  /** Boot id of the system that answered just before; null: none did. */
  bootBefore: z.string().nullable(),
  /** Written before the start of the installation, epoch milliseconds; null: not started. */
  startedAtMs: z.number().nullable(),
  /** Start of the phase, epoch milliseconds. */
  sinceMs: z.number(),
});
export type ClaimValue = z.output<typeof claimValue>;
/** A claim as read. */
export interface Claim extends ClaimValue {
  readonly server: number;
  readonly version: string;
}

/** All claims of one moment, by server number. */
export interface Claims {
  readonly ours: ReadonlyMap<number, Claim>;
  /** Servers of another instance set, or with unknown claims: nothing is done to them. */
  readonly untouchable: ReadonlySet<number>;
}

/** Fields of a claim without resets. */
export const NO_RESETS = {
  resets: 0,
  hardResets: 0,
  resetAtMs: null,
  bootBefore: null,
  startedAtMs: null,
} as const;

/** A new claim: nothing was done with the server, and nothing is known about its systems. */
export const newClaim = (
  change: Pick<ClaimValue, 'set' | 'witness' | 'phase' | 'oldName' | 'hostname' | 'sinceMs'> &
    Partial<ClaimValue>,
): ClaimValue => ({
  ...{ order: 'create', tags: {}, systemKey: null, rescueKeys: [] },
  ...NO_RESETS,
  ...change,
});

/** Time of the last step, epoch milliseconds. */
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
    /** @throws {ProviderError} `conflict`: the server belongs to somebody else. */
    async of(server: number, options: RecordOptions): Promise<Claim | null> {
      const { ours, untouchable } = await all(options);
      if (!untouchable.has(server)) return ours.get(server) ?? null;
      throw new ProviderError('conflict', `server ${server} is claimed by another instance set`);
    },
    /** @throws {ProviderError} `race-lost`: another claim was faster. */
    async make(server: number, value: ClaimValue, options: RecordOptions): Promise<Claim> {
      try {
        const version = await records.make(String(server), value, options);
        return { ...value, server, version };
      } catch (cause) {
        if (!isConflict(cause)) throw cause;
        throw new ProviderError('race-lost', `server ${server} was just claimed`, { cause });
      }
    },
    /** @throws {ProviderError} `transient`, `outcome: 'unknown'`: it has changed since the read. */
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

/** Another daemon is working on the server: the caller's next attempt finds the result. */
const overtaken =
  (server: number) =>
  (cause: unknown): never => {
    if (!isConflict(cause)) throw cause;
    throw new ProviderError('transient', `the claim of server ${server} has changed meanwhile`, {
      cause,
      outcome: 'unknown',
    });
  };

const isConflict = (error: unknown): boolean =>
  error instanceof ProviderError && error.kind === 'conflict';

/** How long our own change overrides a listing. */
const OWN_WORD_MS = 60_000;
const ENTRY_MS = 60_000;

/** The account's servers, with as few requests as possible. */
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
    /** Reads the server. @throws {ProviderError} `not-found`. */
    read,
    /** Last known state, for what hardly changes. @throws {ProviderError} `not-found`. */
    known: async (server: number, how: Sending): Promise<Server> =>
      seen.get(server) ?? read(server, how),
    /** State at most a minute old. @throws {ProviderError} `not-found`. */
    async get(server: number, how: Sending): Promise<Server> {
      const known = ownWord(server);
      if (known) return known;
      const isFresh = listed && clock.monotonic() - listed.atMs < ENTRY_MS;
      const entry = isFresh ? listed?.list.servers.find(({ number }) => number === server) : null;
      return entry ?? read(server, how);
    },
    /**
     * Renames a server. Returns it as Robot reports it, perhaps under another name.
     * @throws {ProviderError} `transient`, `outcome: 'unknown'`: unclear, and the server lacks the
     *   name.
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

/** Shared by all parts of the driver. */
export interface Parts {
  readonly config: RobotConfig;
  readonly client: RobotClient;
  readonly servers: Servers;
  readonly claims: ClaimStore;
  readonly systems: Systems;
  readonly ourKey: OurKey;
  readonly clock: Clock;
  readonly log: Log;
  /** Locks by server, which serialize work with the rescue system. */
  readonly locks: Locks;
}

/** Error text for a caller whose signal aborts before it gets the lock. */
export const WAITING = 'another change of the server was in progress';
/** Time after a reset before a check of the machine is useful. */
export const RESET_FLOOR_MS = 15_000;
export const LOOK_GAP_MS = 10_000;
