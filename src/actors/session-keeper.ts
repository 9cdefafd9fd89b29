import { fromPromise } from 'xstate';
import type { Bmdb, BmdbSession, DaemonAbout } from '../adapters/bmdb/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { Cancelled, SessionExpired } from '../domain/errors.ts';
import type { SessionId } from '../domain/ids.ts';
import type { SessionTiming } from '../machines/session.ts';

interface SessionKeeperOptions {
  readonly bmdb: Bmdb;
  readonly component: string;
  readonly runtimeInfo: string;
  /** Information about the daemon for people, taken when a session opens; absent: none. */
  readonly about?: () => DaemonAbout;
  readonly log: Log;
}

/** Holds the daemon's session object beside the `session` chart, and provides its services. */
export interface SessionKeeper {
  /** The live session, or null. */
  current(): BmdbSession | null;
  /** @throws {SessionExpired} no session is alive. */
  require(): BmdbSession;
  /** Resolves with a session that is alive at that moment. */
  whenAlive(signal: AbortSignal): Promise<BmdbSession>;
  /** Closes the session. May be called again after a failure. */
  close(): Promise<void>;
  readonly services: ReturnType<typeof sessionServices>;
}

interface Holder {
  session: BmdbSession | null;
  readonly waiting: Set<(session: BmdbSession) => void>;
}

export function createSessionKeeper(options: SessionKeeperOptions): SessionKeeper {
  const holder: Holder = { session: null, waiting: new Set() };
  const current = () => (holder.session && !holder.session.signal.aborted ? holder.session : null);
  return {
    current,
    require: () => {
      const session = current();
      if (!session) throw new SessionExpired('this daemon has no live session');
      return session;
    },
    whenAlive: (signal) =>
      new Promise((resolve, reject) => {
        const session = current();
        if (session) return resolve(session);
        const onAbort = () => {
          holder.waiting.delete(onAlive);
          reject(new Cancelled('no longer waiting for a session'));
        };
        const onAlive = (opened: BmdbSession) => {
          signal.removeEventListener('abort', onAbort);
          resolve(opened);
        };
        if (signal.aborted) return onAbort();
        holder.waiting.add(onAlive);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    async close() {
      const { session } = holder;
      holder.session = null;
      try {
        await session?.close();
      } catch (error) {
        holder.session ??= session;
        throw error;
      }
    },
    services: sessionServices(options, holder),
  };
}

function sessionServices(options: SessionKeeperOptions, holder: Holder) {
  const { bmdb, component, runtimeInfo, about, log } = options;
  const held = () => {
    if (!holder.session) throw new SessionExpired('the session is closed');
    return holder.session;
  };
  return {
    openSession: fromPromise<SessionId, SessionTiming>(
      async ({ input: { intervalMs }, signal }) => {
        const session = await bmdb.openSession({
          ...{ component, runtimeInfo, intervalMs },
          ...(about && { about: about() }),
        });
        if (signal.aborted) {
          await session.close();
          throw new Cancelled('the session was opened too late');
        }
        const { session: left } = holder;
        holder.session = session;
        left?.close().catch((err: unknown) => {
          log.warn({ err }, 'the previous session could not be closed; it ends at its deadline');
        });
        log.info({ session: session.sessionId }, 'session opened');
        for (const onAlive of [...holder.waiting]) onAlive(session);
        holder.waiting.clear();
        return session.sessionId;
      },
    ),
    poke: fromPromise<void, void>(() => held().poke()),
    watchDeadline: fromPromise<never, void>(
      ({ signal }) =>
        new Promise((_, reject) => {
          const session = held();
          const onExpired = () => reject(session.signal.reason as Error);
          if (session.signal.aborted) return onExpired();
          session.signal.addEventListener('abort', onExpired, { once: true, signal });
        }),
    ),
  };
}
