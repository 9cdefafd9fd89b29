import pg from 'pg';
import { explain } from '../../../domain/errors.ts';
import { isConnectionLoss, isReadOnly, sqlState, whereOf } from './errors.ts';
import { hostUrlsOf } from './host-urls.ts';
import { prepareConnection } from './settings.ts';
import { named, statement } from './statement.ts';

export const statements = named('connection', {
  session: statement({
    columns: { standby: 'bool', readOnly: 'bool' },
    text: () =>
      `SELECT pg_is_in_recovery() AS standby,
         current_setting('transaction_read_only') = 'on' AS "readOnly"`,
  }),
});

/** One host of a URL. */
interface Host {
  readonly url: string;
  /** Why it did not do at the last attempt; null: it did, or was not tried. */
  failure: unknown;
  /** How often a connection to it broke. Older connections are useless then. */
  breaks: number;
}

/**
 * The hosts of a database URL, tried in order as libpq does. The first that accepts the login and
 * satisfies `target_session_attrs` is used. (`pg` supports one host only.) Unlike libpq, later
 * connections start with the last good host, so that a dead host costs its time limit once.
 */
export interface Hosts {
  readonly count: number;
  /** The host to try next. */
  next(): Host;
  worked(host: Host): void;
  /** Has no effect if the error says nothing about the host. */
  failed(host: Host, error: unknown): void;
  /** The error, or one that quotes all hosts if none of them did at its last attempt. */
  explained(error: unknown): unknown;
  /** @throws with SQLSTATE 25006 if the server does not satisfy the URL. */
  requireSession(client: pg.ClientBase): Promise<void>;
}

/** @throws {UsageError} the URL contradicts itself. */
export function createHosts(url: string): Hosts {
  const { urls, session } = hostUrlsOf(url);
  const hosts = urls.map((each): Host => ({ url: each, failure: null, breaks: 0 }));
  let first = 0;
  return {
    count: hosts.length,
    next: () => hosts[first]!,
    worked(host) {
      host.failure = null;
      first = hosts.indexOf(host);
    },
    failed(host, error) {
      if (!isOfThisHostAlone(error)) return;
      host.failure = error;
      if (hosts[first] === host) first = (first + 1) % hosts.length;
    },
    explained: (error) =>
      hosts.length > 1 && hosts.every(({ failure }) => failure !== null)
        ? noneWillDo(hosts)
        : error,
    async requireSession(client) {
      if (session === 'any') return;
      // Sent without a name: it runs once per connection, so its plan need not be kept.
      const { rows } = await client.query<{ standby: boolean; readOnly: boolean }>(
        statements.session.text,
      );
      const { standby, readOnly } = rows[0]!;
      if (standby) throw notWritable('the server is a standby');
      if (session === 'read-write' && readOnly) throw notWritable('the server is read-only');
    },
  };
}

/**
 * @param attempt connects to a suitable host, and reports on it.
 * @throws an attempt's error about the role, the password or the certificate at once: the other
 *   hosts would say the same. After the last host, an error that quotes each of them.
 */
async function tryEach<T>(hosts: Hosts, attempt: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (tried >= hosts.count || !isOfThisHostAlone(error)) throw hosts.explained(error);
    }
  }
}

const notWritable = (message: string) => Object.assign(new Error(message), { code: '25006' });

/**
 * SQLSTATEs and socket codes about one server: it cannot be reached, is read-only, lacks resources,
 * starts or stops, or has damaged files.
 */
const OF_ONE_HOST = /^(08|25006|5[378]|XX|E[A-Z])/;

function isOfThisHostAlone(error: unknown): boolean {
  const code = sqlState(error);
  if (code !== null) return OF_ONE_HOST.test(code);
  // A wait for a free connection of the pool says nothing about the host.
  const isQueue = (error as Error).message.startsWith('timeout exceeded when trying');
  return isConnectionLoss(error) && !isQueue;
}

function noneWillDo(hosts: readonly Host[]) {
  const told = hosts.map(({ url, failure }) => `${whereOf(url)}: ${explain(failure)}`).join('; ');
  const cause = (hosts.find(({ failure }) => !isReadOnly(failure)) ?? hosts[0]!).failure;
  const code = sqlState(cause) ?? 'ETIMEDOUT';
  return Object.assign(new Error(`no host is usable: ${told}`), { code });
}

/** How a connection is prepared: see `prepareConnection`. */
interface Preparation {
  readonly timeoutMs: number | null;
  readonly settings?: Readonly<Record<string, string>>;
}

/** A connection of a pool to the host that was next when it was opened. */
interface HostClient extends pg.Client {
  /** `host` is a name that `pg` uses. */
  readonly place: Host;
  isStale(): boolean;
  /** Breaks it at once: a silent server would not answer a goodbye. */
  abandon(): void;
}

/**
 * Creates a pool whose new connections lead to a suitable host and are prepared. The pool opens
 * connections also for callers that no longer wait, so each connection reports on its host itself.
 */
export function createPool(
  url: string,
  options: pg.PoolConfig,
  { timeoutMs, settings }: Preparation,
): pg.Pool {
  const hosts = createHosts(url);
  const prepare = async (client: HostClient) => {
    try {
      await hosts.requireSession(client);
      await prepareConnection(client, timeoutMs, settings);
      hosts.worked(client.place);
    } catch (error) {
      hosts.failed(client.place, error);
      client.abandon();
      throw error;
    }
  };
  const pool = new pg.Pool({
    ...options,
    Client: clientOf(hosts),
    // The pool awaits this promise, whatever its types say.
    onConnect: (client): unknown => prepare(client as HostClient),
  });
  const connect = pool.connect.bind(pool);
  const toFresh = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await connect();
      if (!(client as unknown as HostClient).isStale()) return client;
      client.release(true);
    }
  };
  pool.connect = (() => tryEach(hosts, toFresh)) as typeof pool.connect;
  return pool;
}

/** Takes a lent connection out of the pool, with all older ones to its host. */
export function discard(client: pg.PoolClient, reason: Error): void {
  const { place, abandon } = client as unknown as HostClient;
  if (isConnectionLoss(reason) || isReadOnly(reason)) {
    place.breaks += 1;
    abandon();
  }
  client.release(reason);
}

const clientOf = (hosts: Hosts) =>
  class extends pg.Client implements HostClient {
    readonly place: Host;
    readonly #breaks: number;
    constructor(config: pg.ClientConfig = {}) {
      const host = hosts.next();
      super({ ...config, connectionString: host.url });
      this.place = host;
      this.#breaks = host.breaks;
    }
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (!callback) throw new Error('only a pool opens it');
      super.connect((error: Error) => {
        if (error) hosts.failed(this.place, error);
        callback(error);
      });
    }
    isStale = () => this.place.breaks !== this.#breaks;
    abandon = () => (this as unknown as WithSocket).connection.stream.destroy();
  };
/** Of `pg`, but not in its types. */
interface WithSocket {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * Opens and prepares a separate connection to a suitable host. Its errors are ignored until the
 * caller listens to them.
 */
export const connectClient = (
  hosts: Hosts,
  options: pg.ClientConfig,
  {
    timeoutMs,
    settings,
    signal,
  }: Preparation & {
    /** Ends a running attempt. */
    readonly signal?: AbortSignal;
  },
): Promise<pg.Client> =>
  tryEach(hosts, async () => {
    const host = hosts.next();
    const client = new pg.Client({ ...options, connectionString: host.url });
    // A broken connection also fails the running query; here the event must only be handled.
    client.on('error', () => undefined);
    const end = () => void client.end().catch(() => undefined);
    signal?.addEventListener('abort', end);
    try {
      await client.connect();
      await hosts.requireSession(client);
      await prepareConnection(client, timeoutMs, settings);
      signal?.throwIfAborted();
      hosts.worked(host);
      return client;
    } catch (error) {
      hosts.failed(host, error);
      end();
      throw error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
  });
