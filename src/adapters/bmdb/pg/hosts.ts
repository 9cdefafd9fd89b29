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
 * The hosts of a database URL, tried as libpq tries them: in their order, until one lets us in and is
 * what `target_session_attrs` asks for. `pg` knows one host only. Unlike libpq, later connections begin
 * with the host that was good last, so that a dead host costs its time limit once.
 */
export interface Hosts {
  /**
   * @param attempt connects to the host of this URL.
   * @throws what an attempt says of the role, the password or the certificate: such hosts all say the
   *   same, so no other is tried. After the last host an error that tells what each of them said.
   */
  connect<T>(attempt: (url: string) => Promise<T>): Promise<T>;
  /** @throws with SQLSTATE 25006 where the server is not what the URL asks for. */
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
      // Without its name: it is run once for each connection, so no plan of it is to be kept.
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

/** No connection came about, the server is starting (57P03), or is not what is wanted. */
function isOfThisHostAlone(error: unknown): boolean {
  const code = sqlState(error);
  if (code !== null) return code === '57P03' || isReadOnly(error) || /^E[A-Z]/.test(code);
  // What waited for a connection of the pool says nothing of the host.
  const isQueue = (error as Error).message.startsWith('timeout exceeded when trying');
  return isConnectionLoss(error) && !isQueue;
}

function noneWillDo(failures: readonly { readonly url: string; readonly error: unknown }[]) {
  const told = failures.map(({ url, error }) => `${whereOf(url)}: ${explain(error)}`).join('; ');
  const cause = (failures.find(({ error }) => !isReadOnly(error)) ?? failures[0]!).error;
  const code = sqlState(cause) ?? 'ETIMEDOUT';
  return Object.assign(new Error(`no host will do: ${told}`), { code });
}

/** How a connection is prepared: see `prepareConnection`. */
interface Preparation {
  readonly timeoutMs: number | null;
  readonly settings?: Readonly<Record<string, string>>;
}

/** A pool whose new connections lead to a host that will do, and are prepared. */
export function createPool(
  url: string,
  options: pg.PoolConfig,
  { timeoutMs, settings }: Preparation,
): pg.Pool {
  const hosts = createHosts(url);
  const pool = new pg.Pool({
    ...options,
    connectionString: hostUrlsOf(url).urls[0],
    // A promise, for which the pool waits whatever its types say.
    onConnect: (client): unknown =>
      hosts.requireSession(client).then(() => prepareConnection(client, timeoutMs, settings)),
  });
  const connect = pool.connect.bind(pool);
  const toAnyHost = () =>
    hosts.connect((connectionString) => {
      pool.options.connectionString = connectionString;
      return connect();
    });
  // `pool.query` connects by this, too, and gives a callback.
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
 * A connection of its own to a host that will do, prepared. Its errors go unheard until somebody listens.
 */
export const connectClient = (
  hosts: Hosts,
  options: pg.ClientConfig,
  {
    timeoutMs,
    settings,
    signal,
  }: Preparation & {
    /** Ends an attempt under way. */
    readonly signal?: AbortSignal;
  },
): Promise<pg.Client> =>
  hosts.connect(async (connectionString) => {
    const client = new pg.Client({ ...options, connectionString });
    // A broken connection also fails the running query; the event must only not go unhandled.
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
