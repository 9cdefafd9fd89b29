import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Api } from '../../driver-kit/api.ts';
import type { ApiRequest, ApiDeps, Exchange } from '../../driver-kit/terms.ts';
import { bareKey } from '../../driver-kit/our-key.ts';
import { createLocks } from '../../driver-kit/time-limit.ts';
import { createTurns } from '../../driver-kit/turns.ts';
import {
  classOf,
  createRobotApi,
  MANUAL_RESET,
  saysCode,
  bootReply,
  keyList,
  keyReply,
  nothing,
  rescueReply,
  resetReply,
  serverList,
  serverReply,
  type RobotAccess,
  type AccountKey,
  type BootState,
  type Rescue,
  type ResetOptions,
  type Server,
  type ServerList,
} from './api.ts';

/** Robot shuts out an address after three failed logins; and each request is one. */
const LOGINS_FORGIVEN = 2;

/** How a request is sent. */
export interface Sending {
  readonly signal: AbortSignal;
  /** It gives something back or was forced: it may use what is kept for such. */
  readonly urgent?: boolean;
}

/** What is ever sent. There is one more, which calls a technician: that is an operator's to ask for. */
export type ResetType = 'sw' | 'hw' | 'power' | 'power_long';

/** Keeps count of requests where it survives this process. */
export interface CallCounts {
  /** Counts in what daemons have sent that are gone. Before the first request, and from time to time. */
  takeOver(api: Pick<Api, 'recall' | 'spent'>, signal: AbortSignal): Promise<void>;
  /**
   * Milliseconds until all daemons together, those that are gone with them, have something left; 0: now.
   * The share of this daemon is not looked at.
   */
  waitMs(api: Pick<Api, 'spent'>, className: string, how: Sending): Promise<number>;
  /** A request is about to be sent; counted already. */
  note(api: Pick<Api, 'spent'>, className: string, signal: AbortSignal): Promise<void>;
}

export interface RobotClientDeps extends ApiDeps {
  readonly counts: CallCounts;
}

/** What we ask of Robot. All reject with a `ProviderError`; a change is never sent twice by itself. */
export function createRobotClient(access: RobotAccess, deps: RobotClientDeps) {
  const { clock, log, counts } = deps;
  const together = createTurns({ maxConcurrency: LOGINS_FORGIVEN, gapMs: 0 }, { clock });
  const api = createRobotApi(access, { ...deps, together });
  const locks = createLocks();
  /** Answers of Robot that ask to stay away, by class: until when, epoch milliseconds. */
  const awayUntilMs = new Map<string, number>();
  /** With which password a login succeeded. */
  let provenPassword: string | null = null;
  let isRestored = false;

  function refuseWhileAway(exchange: Exchange, doing: string): void {
    const untilMs = awayUntilMs.get(classOf(exchange)) ?? 0;
    if (untilMs <= clock.now()) return;
    throw new ProviderError('transient', `${doing}: Robot asked us to stay away`, {
      rateLimit: { retryAt: new Date(untilMs) },
    });
  }

  function noteAway(exchange: Exchange, error: unknown): void {
    if (!isProviderError(error)) return;
    const { rateLimit, answer } = error;
    // An empty budget of ours fills up by itself.
    if (!rateLimit || answer?.status === undefined || saysCode(error, MANUAL_RESET)) return;
    const name = classOf(exchange);
    awayUntilMs.set(name, Math.max(rateLimit.retryAt.getTime(), awayUntilMs.get(name) ?? 0));
  }

  function noteRefusal(error: unknown): void {
    if (!isProviderError(error, 'auth') || error.answer?.status !== 401) return;
    // Whoever asks first when the silence is over asks alone.
    provenPassword = null;
    log.error(
      { provider: access.name, alarm: 'login-refused' },
      'Robot refused the login; nothing is asked for ten minutes, or until the password changes',
    );
  }

  /**
   * Until a login with this password has succeeded, requests go one after the other: several wrong ones at
   * once would shut out our address.
   */
  async function loggedIn<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const before = access.password();
    if (provenPassword === before) return send();
    const free = await locks.take('login', signal);
    try {
      const answer = await send();
      provenPassword = before;
      return answer;
    } catch (error) {
      // Robot refused something else, so it has let us in.
      const { status = 401 } = (isProviderError(error) && error.answer) || {};
      if (status !== 401) provenPassword = before;
      throw error;
    } finally {
      free();
    }
  }

  async function restoreOnce(signal: AbortSignal): Promise<void> {
    if (isRestored) return;
    const free = await locks.take('restore', signal);
    try {
      if (!isRestored) {
        await counts.takeOver(api, signal).catch((error: unknown) => {
          // Who has no session yet writes nothing, and takes them over later.
          if (signal.aborted || !isProviderError(error, 'aborted')) throw error;
        });
      }
      isRestored = true;
    } finally {
      free();
    }
  }

  /** What daemons have sent that are gone, or that live beside us, is spent too. */
  async function requireLeft(exchange: Exchange, doing: string, how: Sending): Promise<void> {
    const waitMs = await counts.waitMs(api, classOf(exchange), how);
    if (waitMs === 0) return;
    throw new ProviderError('transient', `${doing}: our own budget of requests is used up`, {
      rateLimit: { retryAt: new Date(clock.now() + waitMs) },
    });
  }

  async function send<T>(
    doing: string,
    { signal, urgent = false }: Sending,
    request: ApiRequest<T>,
  ): Promise<T> {
    refuseWhileAway(request, doing);
    try {
      await restoreOnce(signal);
      await requireLeft(request, doing, { signal, urgent });
      const beforeAttempt = () => counts.note(api, classOf(request), signal);
      return await loggedIn(signal, () =>
        api.call(doing, signal).send({ ...request, urgent, beforeAttempt }),
      );
    } catch (error) {
      noteAway(request, error);
      noteRefusal(error);
      if (!signal.aborted || isProviderError(error)) throw error;
      throw new ProviderError('aborted', `${doing}: called off`, { cause: error });
    }
  }

  const serverPath = (server: number) => `/server/${server}`;
  const rescuePath = (server: number) => `/boot/${server}/rescue`;

  return {
    async listServers(how: Sending): Promise<ServerList> {
      const request = { method: 'GET', path: '/server', schema: serverList } as const;
      try {
        return await send('cannot list the servers', how, request);
      } catch (error) {
        // So Robot says that the account has none.
        if (!saysCode(error, 'SERVER_NOT_FOUND')) throw error;
        return { servers: [], unreadable: [], nameless: 0 };
      }
    },
    /** @throws {ProviderError} `not-found`: there is none, or it is not for us to see. */
    getServer: (server: number, how: Sending): Promise<Server> =>
      send(`cannot look at server ${server}`, how, {
        method: 'GET',
        path: serverPath(server),
        schema: serverReply.refine(({ number }) => number === server),
      }),
    /** Answers with the server as Robot says that it is now. */
    rename: (server: number, name: string, how: Sending): Promise<Server> =>
      send(`cannot rename server ${server}`, how, {
        method: 'POST',
        path: serverPath(server),
        body: { server_name: name },
        schema: serverReply.refine(({ number }) => number === server),
      }),
    resetOptions: (server: number, how: Sending): Promise<ResetOptions> =>
      send(`cannot see how server ${server} can be reset`, how, {
        method: 'GET',
        path: `/reset/${server}`,
        schema: resetReply,
      }),
    reset: (server: number, type: ResetType, how: Sending): Promise<void> =>
      send(`cannot reset server ${server} (${type})`, how, {
        method: 'POST',
        path: `/reset/${server}`,
        body: { type },
        schema: nothing,
        attemptsMax: 1,
      }),
    bootState: (server: number, how: Sending): Promise<BootState> =>
      send(`cannot see what server ${server} boots next`, how, {
        method: 'GET',
        path: `/boot/${server}`,
        schema: bootReply,
      }),
    rescue: (server: number, how: Sending): Promise<Rescue> =>
      send(`cannot see whether the rescue system of server ${server} is armed`, how, {
        method: 'GET',
        path: rescuePath(server),
        schema: rescueReply,
      }),
    /** @param keys fingerprints. */
    armRescue: (server: number, keys: readonly string[], how: Sending): Promise<Rescue> =>
      send(`cannot arm the rescue system of server ${server}`, how, {
        method: 'POST',
        path: rescuePath(server),
        body: { os: 'linux', authorized_key: keys },
        schema: rescueReply,
      }),
    disarmRescue: (server: number, how: Sending): Promise<void> =>
      send(`cannot disarm the rescue system of server ${server}`, how, {
        method: 'DELETE',
        path: rescuePath(server),
        schema: nothing,
      }),
    /** Of a stock distribution that somebody ordered by hand. */
    disarmLinux: (server: number, how: Sending): Promise<void> =>
      send(`cannot disarm the installation of server ${server}`, how, {
        method: 'DELETE',
        path: `/boot/${server}/linux`,
        schema: nothing,
      }),
    /** Null: there is none. */
    findKey: (md5: string, how: Sending): Promise<AccountKey | null> =>
      unlessAbsent(
        send('cannot look for our SSH key', how, {
          method: 'GET',
          path: `/key/${md5}`,
          schema: keyReply,
        }),
      ),
    /** @throws {ProviderError} `conflict`: it is there already. */
    async storeKey(
      { name, line }: { readonly name: string; readonly line: string },
      how: Sending,
    ): Promise<void> {
      const request = { method: 'POST', path: '/key', schema: nothing } as const;
      await send('cannot store our SSH key', how, {
        ...request,
        body: { name, data: bareKey(line) },
      });
    },
    async listKeys(how: Sending): Promise<readonly AccountKey[]> {
      const request = { method: 'GET', path: '/key', schema: keyList } as const;
      return (await unlessAbsent(send('cannot list the SSH keys', how, request))) ?? [];
    },
    async deleteKey(md5: string, how: Sending): Promise<void> {
      const request = { method: 'DELETE', path: `/key/${md5}`, schema: nothing } as const;
      await unlessAbsent(send('cannot delete an SSH key', how, request));
    },
    /** Counts in what daemons have sent that are gone since. */
    takeOverCounts: (signal: AbortSignal): Promise<void> => counts.takeOver(api, signal),
    stop: (): void => api.stop(),
  };
}
export type RobotClient = ReturnType<typeof createRobotClient>;

const unlessAbsent = <T>(request: Promise<T>): Promise<T | null> =>
  request.catch((error: unknown) => {
    if (isProviderError(error, 'not-found')) return null;
    throw error;
  });
