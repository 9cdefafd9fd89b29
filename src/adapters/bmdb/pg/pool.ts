import type pg from 'pg';
import {
  AmbiguousCommit,
  Cancelled,
  FleetError,
  Locked,
  RetryExhausted,
  TimedOut,
} from '../../../domain/errors.ts';
import type { Processor } from '../../../domain/processor.ts';
import type { Clock, Random } from '../../clock/port.ts';
import { sleep } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import {
  isConnectionLoss,
  isReadOnly,
  isSerializationFailure,
  isStalePlan,
  translate,
  whereOf,
} from './errors.ts';
import { createPool, discard } from './hosts.ts';
import { repeatedOnce } from './repeat.ts';
import { valuesOf } from './statement.ts';
import type { ArgsOf, Columns, Params, RowOf, Statement } from './statement.ts';

/** Runs statements one after the other on one connection. */
export interface Queries {
  rows<P extends Params, C extends Columns>(
    statement: Statement<P, C>,
    args: ArgsOf<P>,
  ): Promise<RowOf<C>[]>;
  /** Returns the number of changed rows. */
  run<P extends Params>(statement: Statement<P>, args: ArgsOf<P>): Promise<number>;
}

/** Runs a single statement in its own transaction. */
type RunStatement<How> = <P extends Params, C extends Columns>(
  how: How,
  statement: Statement<P, C>,
  args: ArgsOf<P>,
) => Promise<RowOf<C>[]>;

export interface TransactionOptions {
  /** Operation and its subject; begins the message of errors: `could not …`. */
  readonly doing: string;
  /** Component that metrics count the transaction for; `shepherd` when absent. */
  readonly processor?: Processor;
  readonly isolation?: 'SERIALIZABLE' | 'REPEATABLE READ READ ONLY' | 'READ COMMITTED';
  /** The statements look up few rows by key, again and again: see `BY_KEYS`. */
  readonly byKeys?: boolean;
  /** Time limit for each lock, then `Locked`. When absent, the limit of a statement. */
  readonly lockTimeoutMs?: number;
  /** No retries after this time (`Clock.monotonic`). */
  readonly deadlineMs?: () => number;
  readonly signal?: AbortSignal;
}

/** Options of a statement that commits by itself, at READ COMMITTED. */
export type CommitOptions = Pick<
  TransactionOptions,
  'doing' | 'processor' | 'deadlineMs' | 'signal'
>;

/** Connections to one database, and transactions over them. */
export interface Database {
  /**
   * Repeats the statement on a conflict with another transaction.
   * @throws {RetryExhausted} too many conflicts.
   * @throws {Unreachable} the connection broke; whether the statement took effect is unknown.
   */
  readonly once: RunStatement<Pick<TransactionOptions, 'doing' | 'processor' | 'signal'>>;
  /** `commit` for an idempotent statement: repeats it once if the answer to its COMMIT was lost. */
  readonly write: RunStatement<string>;
  /**
   * Runs a statement that writes; repeats it on a conflict with another transaction.
   * @throws {Locked} a lock was not available in time: nothing was written.
   * @throws {RetryExhausted} too many conflicts, or the deadline has passed.
   * @throws {AmbiguousCommit} the connection broke; whether the statement took effect is unknown.
   * @throws {Unreachable} there was no connection: nothing was written.
   */
  readonly commit: RunStatement<CommitOptions>;
  /**
   * Runs the body in one transaction and repeats it on a conflict, so the body must have no effect
   * outside the database.
   * @throws {Locked} a lock was not available in time: nothing was written.
   * @throws {RetryExhausted} too many conflicts, or the deadline has passed.
   * @throws {AmbiguousCommit} the connection broke during COMMIT: the outcome is unknown.
   * @throws {Unreachable} the connection broke before COMMIT: nothing was written.
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
  /** Limit for one statement, and for the pause between two. Must be below the session interval. */
  readonly timeoutMs: number;
  /** Applies `BY_KEYS` to all connections, instead of to each transaction. */
  readonly byKeys?: boolean;
  /** Default time limit for each lock; see `TransactionOptions`. */
  readonly lockTimeoutMs?: number;
  readonly metrics?: Metrics | undefined;
}

const ATTEMPTS_MAX = 50;
/** For several statements that must see the same snapshot. */
export const SNAPSHOT = 'REPEATABLE READ READ ONLY';

export function createDatabase(deps: DatabaseDeps): Database {
  const options = {
    max: deps.poolMax,
    connectionTimeoutMillis: deps.timeoutMs,
    // If the server vanishes silently, its own timeout never comes.
    query_timeout: Math.ceil(deps.timeoutMs * 1.2),
    keepAlive: true,
    application_name: 'shepherd',
  };
  const settings = {
    ...(deps.byKeys && PLANNING),
    ...(deps.lockTimeoutMs !== undefined && { lock_timeout: String(deps.lockTimeoutMs) }),
  };
  const pool = createPool(deps.url, options, { timeoutMs: deps.timeoutMs, settings });
  pool.on('error', (error) => deps.log.warn({ err: error }, 'idle database connection broke'));
  // `pool.end` drops its clients before their sockets are closed. A server that stops just then
  // would raise an unhandled error event.
  pool.on('connect', (client) => {
    client.on('error', (error) => deps.log.debug({ err: error }, 'database connection broke'));
  });
  const commit: RunStatement<CommitOptions> = (how, what, args) =>
    withRetries(deps, how, () =>
      runOne(pool, how, [what, args], (error) => lostCommit(how.doing, error)),
    );
  return {
    once: (how, what, args) => withRetries(deps, how, () => runOne(pool, how, [what, args])),
    write: (doing, what, args) => repeatedOnce(() => commit({ doing }, what, args)),
    commit,
    transact: (options, body) => withRetries(deps, options, () => attempt(pool, options, body)),
    close: () => pool.end(),
  };
}

/** Sleeps U(0, min(1 s, 5 ms × 2^(n-1))) before retrying a conflict. */
async function withRetries<T>(
  deps: DatabaseDeps,
  { doing, processor = 'shepherd', deadlineMs, signal }: TransactionOptions,
  run: () => Promise<T>,
): Promise<T> {
  const { url, clock, random, metrics, poolMax } = deps;
  const ended = (attempts: number) =>
    metrics?.observe('shepherd_transaction_attempts', { processor }, attempts);
  for (let attempts = 1; ; attempts++) {
    const step = attempts === 1 ? 'executed' : 'retried';
    metrics?.count(`bmdb_transaction_${step}`, { processor });
    try {
      const result = await withFreshPlans(poolMax, run);
      ended(attempts);
      return result;
    } catch (error) {
      const pauseMs = random.next() * Math.min(1_000, 5 * 2 ** (attempts - 1));
      const late = deadlineMs !== undefined && clock.monotonic() + pauseMs >= deadlineMs();
      const isConflict = isSerializationFailure(error);
      if (isConflict && !late && attempts < ATTEMPTS_MAX) {
        await sleep(clock, pauseMs, signal);
        continue;
      }
      ended(attempts);
      if (error instanceof AmbiguousCommit)
        metrics?.count('shepherd_transaction_ambiguous_total', { processor });
      if (isFailure(error)) metrics?.count('bmdb_transaction_failed', { processor });
      if (!isConflict) throw translate(error, doing, whereOf(url));
      const why = late ? 'no time left' : `${attempts} attempts`;
      throw new RetryExhausted(`could not ${doing}: conflicts, ${why}`, { cause: error });
    }
  }
}

/** A stale plan costs its connection; the other idle connections may have stale plans, too. */
async function withFreshPlans<T>(idle: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isStalePlan(error) || idle === 0) throw error;
    return withFreshPlans(idle - 1, run);
  }
}

/** False for errors that are findings of the body, for example that a machine is not eligible. */
const isFailure = (error: unknown): boolean =>
  !(error instanceof FleetError) || error instanceof AmbiguousCommit;

/**
 * Plans are made once per connection, because planning takes longer (15 ms for a claim) than
 * execution. So they must stay good as the tables grow. A plan made while a table was empty would
 * scan it until the next ANALYZE. Index order also makes every transaction lock rows in the same
 * order.
 */
const PLANNING: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
const BY_KEYS = Object.entries(PLANNING)
  .map(([name, value]) => `; SET LOCAL ${name} = ${value}`)
  .join('');

async function attempt<T>(
  pool: pg.Pool,
  options: TransactionOptions,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  return withConnection(pool, options, async (client, use) => {
    try {
      await client.query(beginning(options));
      const result = await body(queriesOf(client, options));
      await commit(client, options.doing);
      return result;
    } catch (error) {
      if (!use.broken) use.broken = await rollback(client, error);
      throw error;
    }
  });
}

async function runOne<P extends Params, C extends Columns>(
  pool: pg.Pool,
  options: CommitOptions,
  [what, args]: [Statement<P, C>, ArgsOf<P>],
  lost = (error: unknown): unknown => error,
): Promise<RowOf<C>[]> {
  return withConnection(pool, options, async (client, use) => {
    try {
      return await queriesOf(client, options).rows(what, args);
    } catch (error) {
      if (isUseless(error)) use.broken = asError(error);
      throw isConnectionLoss(error) ? lost(error) : error;
    }
  });
}

/** State in which a lent connection comes back. */
interface Use {
  /** Set if the connection cannot be used again. */
  broken: Error | undefined;
}

async function withConnection<T>(
  pool: pg.Pool,
  { signal, doing }: CommitOptions,
  body: (client: pg.PoolClient, use: Use) => Promise<T>,
): Promise<T> {
  throwIfAborted(signal, doing);
  const client = await pool.connect();
  const use: Use = { broken: undefined };
  // A connection that breaks while lent also fails the running query.
  const onError = (error: Error) => (use.broken = error);
  client.on('error', onError);
  try {
    return await body(client, use);
  } finally {
    client.off('error', onError);
    if (use.broken) discard(client, use.broken);
    else client.release();
  }
}

/** Begins a transaction with its settings in one round trip. */
function beginning({ isolation = 'SERIALIZABLE', byKeys, lockTimeoutMs }: TransactionOptions) {
  const limit = lockTimeoutMs === undefined ? '' : `; SET LOCAL lock_timeout = ${lockTimeoutMs}`;
  return `BEGIN ISOLATION LEVEL ${isolation}${byKeys ? BY_KEYS : ''}${limit}`;
}

/** The statements of one transaction, on its connection. */
export const queriesOf = (
  client: Pick<pg.PoolClient, 'query'>,
  { signal, doing }: Pick<TransactionOptions, 'signal' | 'doing'>,
): Queries => {
  const query = <P extends Params, C extends Columns>(what: Statement<P, C>, args: ArgsOf<P>) => {
    throwIfAborted(signal, doing);
    return client.query(queryOf(what, args));
  };
  return {
    rows: async (what, args) => (await query(what, args)).rows,
    run: async (what, args) => (await query(what, args)).rowCount ?? 0,
  };
};

const queryOf = <P extends Params, C extends Columns>(
  what: Statement<P, C>,
  args: ArgsOf<P>,
): pg.QueryConfig => ({ name: what.name, text: what.text, values: valuesOf(what, args) });

/** @throws {Cancelled} the signal has aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, doing: string): void {
  if (signal?.aborted) {
    throw new Cancelled(`did not ${doing}: stopped`, { cause: signal.reason });
  }
}

async function commit(client: pg.PoolClient, doing: string): Promise<void> {
  let answer: string;
  try {
    answer = (await client.query('COMMIT')).command;
  } catch (error) {
    const kind = translate(error, doing);
    const isLost =
      isConnectionLoss(error) || (kind instanceof TimedOut && !(kind instanceof Locked));
    if (!isLost) throw error;
    throw lostCommit(doing, error);
  }
  // An aborted transaction answers COMMIT with ROLLBACK, without an error.
  if (answer !== 'COMMIT') throw new Error(`the transaction to ${doing} was rolled back`);
}

const lostCommit = (doing: string, cause: unknown) =>
  new AmbiguousCommit(`lost the connection while trying to ${doing}`, { cause });

/** True if the error makes its connection unusable. */
const isUseless = (error: unknown): boolean =>
  isConnectionLoss(error) ||
  isReadOnly(error) ||
  isStalePlan(error) ||
  error instanceof AmbiguousCommit;

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));

/** @returns the error that makes the connection unusable, if any. */
async function rollback(client: pg.PoolClient, reason: unknown): Promise<Error | undefined> {
  if (isUseless(reason)) return asError(reason);
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return asError(error);
  }
}
