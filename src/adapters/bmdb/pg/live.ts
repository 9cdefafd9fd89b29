import { SessionExpired } from '../../../domain/errors.ts';
import type { MachineId, SessionId } from '../../../domain/ids.ts';
import type { AcceptancePolicies } from '../../../domain/acceptance.ts';
import type { LossPolicy, RecoveryBudget } from '../../../domain/policy.ts';
import type { GuardPolicy } from '../../../domain/recovery/guard-judgement.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import type { Database, Queries, TransactionOptions } from './pool.ts';
import { statement } from './statement.ts';
import type { ArgsOf, Columns, Params, RowOf, Statement } from './statement.ts';

/** Shared by all parts of the implementation. */
export interface PgContext {
  readonly db: Database;
  /** For batches that are one statement; see `batchOptions`. */
  readonly batches: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  readonly guard: GuardPolicy;
  readonly acceptance: AcceptancePolicies;
  /** How long batches and heartbeats wait for a lock on a row. */
  readonly lockTimeoutMs: number;
  /** Maximum share by which waits are lengthened at random. */
  readonly jitter: number;
}

/** One session, as its work and its intents use it. */
export interface LiveSession extends PgContext {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly signal: AbortSignal;
  /** Local deadline on `Clock.monotonic`. */
  readonly deadlineMs: () => number;
  /** Aborts the signal. */
  readonly expire: (reason: SessionExpired) => void;
}

export const statements = {
  // KEY SHARE: the janitor cannot delete the session during the transaction, and pokes are not
  // blocked.
  checkSession: statement({
    name: 'session-check',
    params: { session: 'uuid' },
    columns: { alive: 'bool' },
    text: ({ session }) => `SELECT true AS alive FROM (${liveSession(session)}) s`,
  }),
  writeEvents: statement({
    name: 'events-write',
    params: {
      events: { machineId: 'uuid', kind: 'text', reason: 'text' },
      ...{ actor: 'text', session: 'uuid' },
    },
    text: ({ events, actor, session }) =>
      `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
       SELECT p.provider, coalesce(p.provider_reservation_id, p.provider_id), p.machine_id,
         events.kind, ${actor}, events.reason, ${session}
       FROM ${events} JOIN machine_provided p ON p.machine_id = events.machine_id
       ORDER BY events.nth`,
  }),
};

/** Query for the session's row if alive by the database's clock; locks it against deletion. */
export function liveSession(session: string): string {
  return `SELECT session_id, session_component_name FROM sessions
    WHERE session_id = ${session} AND session_deadline > now() FOR KEY SHARE`;
}

/**
 * How batches run: row locks, keys and epochs give the guarantees, not the isolation level. They
 * wait only briefly for locks: see `eachAlone`.
 */
export const batchOptions = ({ lockTimeoutMs }: Pick<PgContext, 'lockTimeoutMs'>) =>
  ({ isolation: 'READ COMMITTED', byKeys: true, lockTimeoutMs }) as const;

/** Description and options of an operation. */
export type LiveOptions = Omit<TransactionOptions, 'deadlineMs' | 'signal'>;

/**
 * Runs a transaction that requires a live session; its first statement checks that.
 * @throws {SessionExpired}
 */
export async function transactLive<T>(
  session: LiveSession,
  what: string | LiveOptions,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  const options = typeof what === 'string' ? { doing: what } : what;
  const result = await transactFenced(session, options, async (q) => {
    const alive = await q.rows(statements.checkSession, { session: session.sessionId });
    if (alive.length === 0) throw declareDead(session, options.doing);
    return body(q);
  });
  requireInTime(session, options.doing);
  return result;
}

/**
 * Sends nothing after the local deadline. The body's own statements must check the session by the
 * database's clock, and throw `declareDead` if it has expired.
 * @throws {SessionExpired}
 */
export async function transactFenced<T>(
  session: LiveSession,
  what: LiveOptions,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  return fenced(session, what, (options) => session.db.transact(options, body));
}

/**
 * Like `transactFenced`, for a batch that is one statement and commits by itself.
 * @throws {SessionExpired} @throws {AmbiguousCommit} @throws {Locked} nothing was written.
 */
export async function commitFenced<P extends Params, C extends Columns>(
  session: LiveSession,
  what: Pick<LiveOptions, 'doing' | 'processor'>,
  [sql, args]: readonly [Statement<P, C>, ArgsOf<P>],
): Promise<RowOf<C>[]> {
  return fenced(session, what, (options) => session.batches.commit(options, sql, args));
}

/**
 * Like `commitFenced`, for a statement that reports whether the session was alive when it began.
 * @throws {SessionExpired}
 */
export async function commitAlive<P extends Params, C extends Columns & { readonly alive: 'bool' }>(
  session: LiveSession,
  what: Pick<LiveOptions, 'doing' | 'processor'>,
  sent: readonly [Statement<P, C>, ArgsOf<P>],
): Promise<RowOf<C>[]> {
  const rows = await commitFenced(session, what, sent);
  if (!rows[0]?.alive) throw declareDead(session, what.doing);
  requireInTime(session, what.doing);
  return rows;
}

async function fenced<What extends LiveOptions, T>(
  session: LiveSession,
  what: What,
  run: (options: What & Pick<TransactionOptions, 'deadlineMs' | 'signal'>) => Promise<T>,
): Promise<T> {
  const { deadlineMs, signal } = session;
  if (signal.aborted) throw expired(session, what.doing);
  try {
    return await run({ ...what, deadlineMs, signal });
  } catch (error) {
    if (signal.aborted && error !== signal.reason) throw expired(session, what.doing, error);
    throw error;
  }
}

/**
 * Guards against a suspended process, which receives an answer before the timer of its deadline
 * fires.
 * @throws {SessionExpired} the local deadline has passed.
 */
export function requireInTime(session: LiveSession, doing: string): void {
  if (session.signal.aborted) throw expired(session, doing);
  if (session.clock.monotonic() >= session.deadlineMs()) throw declareDead(session, doing);
}

/** Ends the session locally: the database says that it is dead. @returns the error to throw. */
export function declareDead(session: LiveSession, doing: string): SessionExpired {
  const reason = expired(session, doing);
  session.expire(reason);
  return reason;
}

const expired = (session: LiveSession, doing: string, cause: unknown = session.signal.reason) =>
  new SessionExpired(`did not ${doing}: session ${session.sessionId} has expired`, { cause });

/** A line of a slot's log. */
export interface SlotEvent {
  readonly machineId: MachineId;
  readonly kind: string;
  readonly reason: string;
}

/** Writes lines into the slots' logs, in this order; skips machines without hardware. */
export async function writeEvents(
  q: Queries,
  { component, sessionId }: Pick<LiveSession, 'component' | 'sessionId'>,
  events: readonly SlotEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await q.run(statements.writeEvents, { events, actor: component, session: sessionId });
}
/** Writes one such line. */
export const writeEvent = (q: Queries, session: LiveSession, event: SlotEvent): Promise<void> =>
  writeEvents(q, session, [event]);
