import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { RobotClient, Sending } from './client/client.ts';
import type { Server, ServerList } from './client/schema.ts';

/** The servers of the account, asked for as seldom as may be. */
export interface Servers {
  list(how: Sending): Promise<ServerList>;
  /** As it was a minute ago at most. @throws {ProviderError} `not-found`. */
  get(server: number, how: Sending): Promise<Server>;
  /** As it was seen last, however long ago: for what hardly ever changes. @throws {ProviderError} `not-found`. */
  known(server: number, how: Sending): Promise<Server>;
  /** As it is now. @throws {ProviderError} `not-found`. */
  read(server: number, how: Sending): Promise<Server>;
  /**
   * Renames a server. Answers with it as Robot says that it is now, which may be by another name.
   * @throws {ProviderError} `transient`, `outcome: 'unknown'`: nobody knows, and it has not the name.
   */
  rename(server: number, name: string, how: Sending): Promise<Server>;
}

/** What we know of a server by a change of our own counts for so long, whatever a listing says. */
const OWN_WORD_MS = 60_000;
const ENTRY_MS = 60_000;

export function createServers(
  client: Pick<RobotClient, 'listServers' | 'getServer' | 'rename'>,
  deps: { readonly clock: Pick<Clock, 'monotonic'>; readonly freshMs: () => number },
): Servers {
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
    read,
    known: async (server, how) => seen.get(server) ?? read(server, how),
    async get(server, how) {
      const known = ownWord(server);
      if (known) return known;
      const isFresh = listed && clock.monotonic() - listed.atMs < ENTRY_MS;
      const entry = isFresh ? listed?.list.servers.find(({ number }) => number === server) : null;
      return entry ?? read(server, how);
    },
    async rename(server, name, how) {
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

/** For a read of a server that Robot says not to exist. */
export function nullIfGone(error: unknown): null {
  if (isProviderError(error, 'not-found')) return null;
  throw error;
}
