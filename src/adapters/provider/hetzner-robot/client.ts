import type { z } from 'zod';
import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import type { ApiObserver, ApiRequest, Exchange } from '../../driver-kit/terms.ts';
import { bareKey } from '../../driver-kit/our-key.ts';
import { createLocks } from '../../driver-kit/time-limit.ts';
import { providerLog } from '../../driver-kit/provider-log.ts';
import { createTurns } from '../../driver-kit/turns.ts';
import type { DriverContext } from '../port.ts';
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
  type AccountKey,
  type BootState,
  type Rescue,
  type ResetOptions,
  type Server,
  type ServerList,
} from './api.ts';
import { createCounts } from './counts.ts';
import type { RobotSettings } from './settings.ts';

/** Robot blocks an address after three failed logins, and each request is a login. */
const LOGINS_FORGIVEN = 2;

/** How to send a request. */
export interface Sending {
  readonly signal: AbortSignal;
  /** For a give-back or a forced reboot: may use the reserved resets. */
  readonly urgent?: boolean;
}

/** Resets that we send. The fifth type calls a technician; only an operator may request that. */
export type ResetType = 'sw' | 'hw' | 'power' | 'power_long';

/** Requests to Robot. All reject with a `ProviderError`; changes are never repeated. */
export function createRobotClient(settings: RobotSettings, context: DriverContext) {
  const { clock, name } = context;
  const log = providerLog(context.log, name);
  const together = createTurns({ maxConcurrency: LOGINS_FORGIVEN, gapMs: 0 }, { clock });
  const daemons = () => context.daemons();
  const observer = observerOf(context);
  const api = createRobotApi(name, settings, { ...context, daemons, together, observer });
  const counts = createCounts(settings.limits, api, context);
  const locks = createLocks();
  /** End of the wait that Robot requested for each class, epoch milliseconds. */
  const awayUntilMs = new Map<string, number>();
  /** Password of the last successful login. */
  let provenPassword: string | null = null;

  function refuseWhileAway(exchange: Exchange, doing: string): void {
    const untilMs = awayUntilMs.get(classOf(exchange)) ?? 0;
    if (untilMs <= clock.now()) return;
    throw new ProviderError('transient', `${doing}: Robot asked us to wait`, {
      rateLimit: { retryAt: new Date(untilMs) },
    });
  }

  function noteAway(exchange: Exchange, error: unknown): void {
    if (!isProviderError(error)) return;
    const { rateLimit, answer } = error;
    // Our own used-up budget refills without a wait.
    if (!rateLimit || answer?.status === undefined || saysCode(error, MANUAL_RESET)) return;
    const name = classOf(exchange);
    awayUntilMs.set(name, Math.max(rateLimit.retryAt.getTime(), awayUntilMs.get(name) ?? 0));
  }

  function noteRefusal(error: unknown): void {
    if (!isProviderError(error, 'auth') || error.answer?.status !== 401) return;
    // After the wait, the first request goes alone.
    provenPassword = null;
    log.error(
      { alarm: 'login-refused' },
      'Robot refused the login; no requests for ten minutes, or until the password changes',
    );
  }

  /**
   * Until a login with this password succeeds, requests go one after the other: several failed
   * logins at once would block our address.
   */
  async function loggedIn<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const password = settings.password.read();
    if (provenPassword === password) return send();
    const what = 'cancelled before the login';
    return locks.alone('login', signal, { what, task: () => send().then(proven, asRefusal) });

    function proven(answer: T): T {
      provenPassword = password;
      return answer;
    }
    function asRefusal(error: unknown): never {
      // Robot refused something else, so the login succeeded.
      const { status = 401 } = (isProviderError(error) && error.answer) || {};
      if (status !== 401) provenPassword = password;
      throw error;
    }
  }

  /** Requests of other daemons, dead or alive, count as well. */
  async function requireLeft(exchange: Exchange, doing: string, how: Sending): Promise<void> {
    const waitMs = await counts.waitMs(classOf(exchange), how);
    if (waitMs === 0) return;
    throw new ProviderError('transient', `${doing}: our own request budget is used up`, {
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
      await requireLeft(request, doing, { signal, urgent });
      const beforeAttempt = () => counts.note(classOf(request), { signal });
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

  const get = <T>(path: string, schema: z.ZodType<T>) => ({ method: 'GET', path, schema }) as const;
  const post = <T>(path: string, body: ApiRequest<T>['body'], schema: z.ZodType<T>) =>
    ({ method: 'POST', path, body, schema }) as const;
  const remove = (path: string) => ({ method: 'DELETE', path, schema: nothing }) as const;
  const rescuePath = (server: number) => `/boot/${server}/rescue`;
  const replyAbout = (server: number) => serverReply.refine(({ number }) => number === server);

  return {
    async listServers(how: Sending): Promise<ServerList> {
      try {
        return await send('cannot list the servers', how, get('/server', serverList));
      } catch (error) {
        // Robot's reply for an account without servers.
        if (!saysCode(error, 'SERVER_NOT_FOUND')) throw error;
        return { servers: [], unreadable: [], nameless: 0 };
      }
    },
    /** @throws {ProviderError} `not-found`: the server does not exist or is hidden from us. */
    getServer: (server: number, how: Sending): Promise<Server> =>
      send(`cannot read server ${server}`, how, get(`/server/${server}`, replyAbout(server))),
    /** Returns the server as Robot reports it afterwards. */
    rename(server: number, name: string, how: Sending): Promise<Server> {
      const request = post(`/server/${server}`, { server_name: name }, replyAbout(server));
      return send(`cannot rename server ${server}`, how, request);
    },
    resetOptions: (server: number, how: Sending): Promise<ResetOptions> =>
      send(
        `cannot read the reset options of server ${server}`,
        how,
        get(`/reset/${server}`, resetReply),
      ),
    reset(server: number, type: ResetType, how: Sending): Promise<void> {
      const request = { ...post(`/reset/${server}`, { type }, nothing), attemptsMax: 1 };
      return send(`cannot reset server ${server} (${type})`, how, request);
    },
    bootState: (server: number, how: Sending): Promise<BootState> =>
      send(
        `cannot read the boot options of server ${server}`,
        how,
        get(`/boot/${server}`, bootReply),
      ),
    rescue(server: number, how: Sending): Promise<Rescue> {
      const doing = `cannot read whether the rescue system of server ${server} is armed`;
      return send(doing, how, get(rescuePath(server), rescueReply));
    },
    /** @param keys fingerprints. */
    armRescue(server: number, keys: readonly string[], how: Sending): Promise<Rescue> {
      const body = { os: 'linux', authorized_key: keys };
      const request = post(rescuePath(server), body, rescueReply);
      return send(`cannot arm the rescue system of server ${server}`, how, request);
    },
    disarmRescue: (server: number, how: Sending): Promise<void> =>
      send(`cannot disarm the rescue system of server ${server}`, how, remove(rescuePath(server))),
    /** Disarms a stock distribution that somebody ordered manually. */
    disarmLinux: (server: number, how: Sending): Promise<void> =>
      send(
        `cannot disarm the installation of server ${server}`,
        how,
        remove(`/boot/${server}/linux`),
      ),
    /** Null if there is none. */
    findKey: (md5: string, how: Sending): Promise<AccountKey | null> =>
      send('cannot find our SSH key', how, get(`/key/${md5}`, keyReply)).catch(nullIfGone),
    /** @throws {ProviderError} `conflict`: the key already exists. */
    storeKey: (name: string, line: string, how: Sending): Promise<void> =>
      send('cannot store our SSH key', how, post('/key', { name, data: bareKey(line) }, nothing)),
    async listKeys(how: Sending): Promise<readonly AccountKey[]> {
      const keys = send('cannot list the SSH keys', how, get('/key', keyList));
      return (await keys.catch(nullIfGone)) ?? [];
    },
    async deleteKey(md5: string, how: Sending): Promise<void> {
      await send('cannot delete an SSH key', how, remove(`/key/${md5}`)).catch(nullIfGone);
    },
    stop: (): void => api.stop(),
  };
}
export type RobotClient = ReturnType<typeof createRobotClient>;

/** Requests are counted like those of every adapter. */
const observerOf = ({ metrics }: Pick<DriverContext, 'metrics'>): ApiObserver => ({
  attempt: (endpoint, status) =>
    metrics.count('shepherd_adapter_calls_total', {
      adapter: 'hetzner-robot',
      op: endpoint,
      code: status,
    }),
  slots: () => undefined,
  retry: () => undefined,
  paused: () => undefined,
  walk: () => undefined,
});
