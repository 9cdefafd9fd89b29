import pg from 'pg';
import { AmbiguousCommit, Cancelled, RetryExhausted, TimedOut } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import { sleep } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import { isConnectionLoss, isSerializationFailure, translate } from './errors.ts';

/** One statement after the other on one connection. */
export interface Queries {
  rows<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Number of rows changed. */
  run(sql: string, values?: readonly unknown[]): Promise<number>;
}

export interface TransactionOptions {
  /** What is being done to what; begins the message of errors: `could not …`. */
  readonly doing: string;
  readonly isolation?: 'SERIALIZABLE' | 'REPEATABLE READ READ ONLY' | 'READ COMMITTED';
  /** Retries end here (result of `Clock.monotonic`). */
  readonly deadlineMs?: () => number;
  readonly signal?: AbortSignal;
}

/** Connections to one database, and transactions over them. */
export interface Database {
  /** A single statement in its own transaction. */
  rows<Row>(doing: string, sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs the body in one transaction, again when it conflicts with another: it must have no effect
   * outside the database.
   * @throws {RetryExhausted} too many conflicts, or past the deadline.
   * @throws {AmbiguousCommit} the connection broke during COMMIT: the outcome is not known.
   * @throws {Unreachable} the connection broke before: nothing was written.
   */
  transact<T>(options: TransactionOptions, body: (q: Queries) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly poolMax: number;
  /** For one statement, and for the pause between two. Below the session interval. */
  readonly timeoutMs: number;
  readonly metrics?: Pick<Metrics, 'transaction'> | undefined;
}

const ATTEMPTS_MAX = 50;

export function createDatabase(deps: DatabaseDeps): Database {
  const pool = new pg.Pool({
    connectionString: deps.url,
    max: deps.poolMax,
    connectionTimeoutMillis: deps.timeoutMs,
    statement_timeout: deps.timeoutMs,
    idle_in_transaction_session_timeout: deps.timeoutMs,
    // The server may be gone without a word; then its own timeout never comes.
    query_timeout: deps.timeoutMs + 1_000,
    keepAlive: true,
    application_name: 'shepherd',
  });
  pool.on('error', (error) => deps.log.warn({ err: error }, 'idle database connection broke'));
  // `pool.end` lets go of its clients before their sockets are closed: a server that stops just then
  // would raise an error that nobody hears.
  pool.on('connect', (client) => {
    client.on('error', (error) => deps.log.debug({ err: error }, 'database connection broke'));
  });
  return {
    rows: async <Row>(doing: string, sql: string, values: readonly unknown[] = []) => {
      try {
        return (await pool.query(sql, [...values])).rows as Row[];
      } catch (error) {
        throw translate(error, doing);
      }
    },
    transact: (options, body) => withRetries(deps, options, () => attempt(pool, options, body)),
    close: () => pool.end(),
  };
}

/** Sleeps U(0, min(1 s, 5 ms × 2^(n-1))) before repeating what conflicted. */
async function withRetries<T>(
  { clock, random, metrics }: DatabaseDeps,
  { doing, deadlineMs, signal }: TransactionOptions,
  run: () => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    metrics?.transaction(attempts === 1 ? 'executed' : 'retried');
    try {
      return await run();
    } catch (error) {
      if (!isSerializationFailure(error)) throw translate(error, doing);
      const pauseMs = random.next() * Math.min(1_000, 5 * 2 ** (attempts - 1));
      const late = deadlineMs !== undefined && clock.monotonic() + pauseMs >= deadlineMs();
      if (late || attempts >= ATTEMPTS_MAX) {
        metrics?.transaction('failed');
        const why = late ? 'no time left' : `${attempts} attempts`;
        throw new RetryExhausted(`could not ${doing}: conflicts, ${why}`, { cause: error });
      }
      await sleep(clock, pauseMs, signal);
    }
  }
}

async function attempt<T>(
  pool: pg.Pool,
  options: TransactionOptions,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  const { signal, isolation = 'SERIALIZABLE', doing } = options;
  throwIfAborted(signal, doing);
  const client = await pool.connect();
  // A connection that breaks while it is ours also fails the running query.
  let broken: Error | undefined;
  const onError = (error: Error) => (broken = error);
  client.on('error', onError);
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const result = await body(queriesOf(client, options));
    await commit(client, doing);
    return result;
  } catch (error) {
    broken ??= await rollback(client, error);
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const queriesOf = (client: pg.PoolClient, { signal, doing }: TransactionOptions): Queries => ({
  rows: async <Row>(sql: string, values: readonly unknown[] = []) => {
    throwIfAborted(signal, doing);
    return (await client.query(sql, [...values])).rows as Row[];
  },
  run: async (sql, values = []) => {
    throwIfAborted(signal, doing);
    return (await client.query(sql, [...values])).rowCount ?? 0;
  },
});

function throwIfAborted(signal: AbortSignal | undefined, doing: string): void {
  if (signal?.aborted) {
    throw new Cancelled(`did not ${doing}: stopped`, { cause: signal.reason });
  }
}

async function commit(client: pg.PoolClient, doing: string): Promise<void> {
  let answer: string;
  try {
    answer = (await client.query('COMMIT')).command;
  } catch (error) {
    const lost = isConnectionLoss(error) || translate(error, doing) instanceof TimedOut;
    if (!lost) throw error;
    throw new AmbiguousCommit(`lost the connection while trying to ${doing}`, { cause: error });
  }
  // An aborted transaction answers COMMIT with ROLLBACK, without an error.
  if (answer !== 'COMMIT') throw new Error(`the transaction to ${doing} was rolled back`);
}

/** An error means that the connection cannot be used again. */
async function rollback(client: pg.PoolClient, reason: unknown): Promise<Error | undefined> {
  const closed = isConnectionLoss(reason) || reason instanceof AmbiguousCommit;
  if (closed) return reason instanceof Error ? reason : new Error(String(reason));
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
