import { callbackify } from 'node:util';
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

/**
 * The hosts of a database URL, tried in order as libpq does. The first that accepts the login and
 * satisfies `target_session_attrs` is used. (`pg` supports one host only.) Unlike libpq, later
 * connections start with the last good host, so that a dead host costs its time limit once.
 */
export interface Hosts {
  /**
   * @param attempt connects to the host of this URL.
   * @throws an attempt's error about the role, the password or the certificate at once: the other
   *   hosts would say the same. After the last host, an error that quotes each of them.
   */
  connect<T>(attempt: (url: string) => Promise<T>): Promise<T>;
  /** @throws with SQLSTATE 25006 if the server does not satisfy the URL. */
  requireSession(client: pg.ClientBase): Promise<void>;
}

/** @throws {UsageError} the URL contradicts itself. */
export function createHosts(url: string): Hosts {
  const { urls, session } = hostUrlsOf(url);
  let first = 0;
  return {
    async connect(attempt) {
      const failures: { readonly url: string; readonly error: unknown }[] = [];
      const begin = first;
      for (let tried = 0; ; tried++) {
        const at = (begin + tried) % urls.length;
        try {
          const connected = await attempt(urls[at]!);
          first = at;
          return connected;
        } catch (error) {
          if (urls.length === 1 || !isOfThisHostAlone(error)) throw error;
          failures.push({ url: urls[at]!, error });
          if (first === at) first = (at + 1) % urls.length;
          if (failures.length === urls.length) throw noneWillDo(failures);
        }
      }
    },
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

const notWritable = (message: string) => Object.assign(new Error(message), { code: '25006' });

/** True if no connection came about, the server is starting (57P03), or is of the wrong kind. */
function isOfThisHostAlone(error: unknown): boolean {
  const code = sqlState(error);
  if (code !== null) return code === '57P03' || isReadOnly(error) || /^E[A-Z]/.test(code);
  // A wait for a free connection of the pool says nothing about the host.
  const isQueue = (error as Error).message.startsWith('timeout exceeded when trying');
  return isConnectionLoss(error) && !isQueue;
}

function noneWillDo(failures: readonly { readonly url: string; readonly error: unknown }[]) {
  const told = failures.map(({ url, error }) => `${whereOf(url)}: ${explain(error)}`).join('; ');
  const cause = (failures.find(({ error }) => !isReadOnly(error)) ?? failures[0]!).error;
  const code = sqlState(cause) ?? 'ETIMEDOUT';
  return Object.assign(new Error(`no host is usable: ${told}`), { code });
}

/** How a connection is prepared: see `prepareConnection`. */
interface Preparation {
  readonly timeoutMs: number | null;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Creates a pool whose new connections lead to a suitable host and are prepared. */
export function createPool(
  url: string,
  options: pg.PoolConfig,
  { timeoutMs, settings }: Preparation,
): pg.Pool {
  const hosts = createHosts(url);
  const pool = new pg.Pool({
    ...options,
    connectionString: hostUrlsOf(url).urls[0],
    // The pool awaits this promise, whatever its types say.
    onConnect: (client): unknown =>
      hosts.requireSession(client).then(() => prepareConnection(client, timeoutMs, settings)),
  });
  const connect = pool.connect.bind(pool);
  const toAnyHost = () =>
    hosts.connect((connectionString) => {
      pool.options.connectionString = connectionString;
      return connect();
    });
  // `pool.query` also connects through this function, with a callback.
  pool.connect = ((callback?: Parameters<typeof connect>[0]) => {
    if (!callback) return toAnyHost();
    return callbackify(toAnyHost)((error, client) =>
      error
        ? callback(error, undefined, () => undefined)
        : callback(undefined, client, client.release),
    );
  }) as typeof pool.connect;
  return pool;
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
  hosts.connect(async (connectionString) => {
    const client = new pg.Client({ ...options, connectionString });
    // A broken connection also fails the running query; here the event must only be handled.
    client.on('error', () => undefined);
    const end = () => void client.end().catch(() => undefined);
    signal?.addEventListener('abort', end);
    try {
      await client.connect();
      await hosts.requireSession(client);
      await prepareConnection(client, timeoutMs, settings);
      signal?.throwIfAborted();
      return client;
    } catch (error) {
      end();
      throw error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
  });
