import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { type Clock, sleep } from '../../../clock/port.ts';
import { createHttp, HttpFailure, type Trust } from '../../../driver-kit/exchange.ts';
import { createRedact } from '../../../driver-kit/redaction.ts';
import type { TurnGroups, EndTurn } from '../../../driver-kit/turns.ts';
import type { DriverContext } from '../../port.ts';
import {
  errorOf,
  failureOf,
  isAway,
  refusalIn,
  bareOf,
  linkOf,
  locationOf,
  ROOT_PATH,
  isObject,
  readReply,
  saidIn,
  type BmcJson,
  type Reply,
} from './errors.ts';
import {
  createLogin,
  createBmcHealth,
  type LoginOptions,
  type Plain,
  type Shown,
} from './session.ts';

export interface BmcOptions extends LoginOptions {
  /** `https://host[:port]`. */
  readonly url: string;
  readonly trust: Trust;
  readonly limits: HttpLimits;
  /** Minimum time between two requests, milliseconds. */
  readonly gapMs: number;
}

export interface HttpLimits {
  /** For the connection with its handshake. */
  readonly connectTimeoutMs: number;
  /** For a whole request. */
  readonly timeoutMs: number;
}

export interface BmcDeps extends Pick<
  DriverContext,
  'clock' | 'log' | 'name' | 'network' | 'userAgent' | 'waitsForTurn'
> {
  /** One request at a time per BMC (by URL), and a limit for all together. */
  readonly turns: Pick<TurnGroups, 'take'>;
}

/** Requests to a BMC during one turn, one after the other. */
export interface Wire {
  /** @throws {ProviderError} also if the answer is no JSON object: `permanent`. */
  get(path: string): Promise<Reply>;
  /** Like `get`, but the answer may have no body. */
  poll(path: string): Promise<Reply>;
  /** @throws {ProviderError} with `outcome: 'unknown'` if the request may have taken effect. */
  send(method: Method, path: string, body?: BmcJson, headers?: Headers): Promise<Reply>;
  /** The service root, which needs no login. `fresh`: ignore the cached one. */
  root(fresh?: boolean): Promise<BmcJson>;
}
type Method = 'POST' | 'PATCH' | 'DELETE';
type Headers = Readonly<Record<string, string>>;

export interface TurnHow {
  readonly signal: AbortSignal;
  /** Goes before background readings. */
  readonly urgent?: boolean;
  /** Runs in the background; no call waits for it. */
  readonly beside?: boolean;
}

/** Maximum length of an answer. */
const REPLY_BYTES_MAX = 512 * 1024;
const SESSIONS = 'where sessions are';
/** How long a login may continue after its caller has gone; otherwise its session would be lost. */
const LOGIN_GRACE_MS = 2_000;
/** Limit for a logout: a slower BMC ends the session by itself. */
const LOGOUT_MS = 3_000;
const HEADERS = { 'OData-Version': '4.0', Accept: 'application/json' };

/** One BMC: one request at a time, and at most one session. */
export function createBmc(options: BmcOptions, deps: BmcDeps) {
  const { url, trust, limits, gapMs } = options;
  const { clock, log, turns, userAgent, waitsForTurn } = deps;
  const http = createHttp(
    { baseUrl: url, trust, closesConnections: true, replyBytesMax: REPLY_BYTES_MAX },
    deps,
  );
  const login = createLogin(options, clock);
  const standing = createBmcHealth(clock);
  const cannot = new Set<string>();
  const remembered = new Map<string, unknown>();
  const lasting = new Map<string, unknown>();
  const moved = new Map<string, string>();
  let root: BmcJson | null = null;
  let takesIdentity = true;
  let restedAtMs = -Infinity;

  function forget() {
    cannot.clear();
    remembered.clear();
    moved.clear();
    root = null;
    login.forget();
  }

  function exchange(request: Request, signal: AbortSignal) {
    const { method, body, headers, timeoutMs = Infinity } = request;
    const [path = '', query] = request.path.split('?');
    const exchanged = {
      method,
      path,
      query: Object.fromEntries(new URLSearchParams(query)),
      payload: body ? JSON.stringify(body) : null,
      headers: {
        ...HEADERS,
        'User-Agent': userAgent,
        ...(takesIdentity && { 'Accept-Encoding': 'identity' }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      freshConnection: true,
      connectTimeoutMs: Math.min(limits.connectTimeoutMs, timeoutMs),
      timeoutMs: Math.min(limits.timeoutMs, timeoutMs),
    };
    return http.exchange(exchanged, signal);
  }

  interface Request {
    readonly method: Method | 'GET';
    readonly path: string;
    readonly body?: BmcJson | undefined;
    readonly headers?: Headers | undefined;
    /** Shorter than for other requests. */
    readonly timeoutMs?: number;
  }

  function wireOf(signal: AbortSignal): Wire {
    /** Sends a request after the minimum gap. @throws {ProviderError} there was no reply. */
    async function pass(request: Request, until = signal): Promise<Reply> {
      const { method, path, body, headers } = request;
      await sleep(clock, Math.max(0, restedAtMs + gapMs - clock.monotonic()), signal).catch(
        (cause: unknown) => {
          throw new ProviderError('aborted', `${method} ${path} was not sent`, { cause });
        },
      );
      const redact = createRedact([], login.secrets());
      try {
        const reply = await exchange({ method, path, body, headers }, until);
        standing.replied(reply.status);
        return readReply(reply, path, redact);
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        if (error.reason !== 'aborted') {
          const isGone = isAway(error);
          if (isGone) forget();
          standing.failed({ silent: !isGone && error.reason !== 'certificate' });
        }
        throw failureOf(error, asked(method, path));
      } finally {
        restedAtMs = clock.monotonic();
      }
    }
    const asked = (method: string, path: string) => ({
      doing: createRedact([], login.secrets())(`${method} ${path} at ${url}`),
      changing: method !== 'GET',
      nowMs: clock.now(),
    });
    /** @throws {ProviderError} the answer is no success. */
    function successOf(reply: Reply, method: string, path: string): Reply {
      if (reply.status >= 200 && reply.status < 300) return reply;
      const error = errorOf(reply, asked(method, path));
      if (error.rateLimit) standing.busyUntil(error.rateLimit.retryAt.getTime());
      throw error;
    }

    const plain: Plain = {
      async sessionsPath() {
        // A hanging BMC cannot be asked for it, but its reset needs a login.
        const known = lasting.get(SESSIONS);
        if (typeof known === 'string') return known;
        const { Links: links } = await wire.root();
        const path = isObject(links) ? linkOf(links['Sessions']) : null;
        lasting.set(SESSIONS, path);
        return path;
      },
      async send(method, path, headers, body) {
        const late = createGrace(signal, clock);
        try {
          return successOf(await pass({ method, path, headers, body }, late.signal), method, path);
        } finally {
          late.end();
        }
      },
    };

    /** Follows a redirect to the same path's other form; drops a header that the BMC rejects. */
    async function read(path: string, headers: Headers): Promise<Reply> {
      const at = moved.get(path) ?? path;
      const reply = await pass({ method: 'GET', path: at, headers });
      if (reply.status === 406 && takesIdentity) {
        takesIdentity = false;
        return pass({ method: 'GET', path: at, headers });
      }
      if (reply.status !== 308 || at !== path) return reply;
      const other = locationOf(reply.headers.location, url);
      if (other === null || other === path || bareOf(other) !== bareOf(path)) return reply;
      moved.set(path, other);
      return pass({ method: 'GET', path: other, headers });
    }

    async function ask(request: Request): Promise<Reply> {
      const { method, path } = request;
      const once = async (shown: Shown) => {
        const headers = { ...request.headers, ...shown.headers };
        return method === 'GET' ? read(path, headers) : pass({ ...request, headers });
      };
      const shown = await login.show(plain);
      const reply = await once(shown);
      if (!isLoginRefused(reply, shown)) return successOf(reply, method, path);
      if (shown.scheme === 'session') forget();
      if (!(await login.refused(shown, plain))) return successOf(reply, method, path);
      // The request was not carried out, so a repetition is safe.
      const again = await login.show(plain);
      const second = await once(again);
      if (again.scheme === 'basic' && isLoginRefused(second, again)) {
        await login.refused(again, plain);
      }
      return successOf(second, method, path);
    }

    const wire: Wire = {
      poll: (path) => ask({ method: 'GET', path }),
      async get(path) {
        const reply = await ask({ method: 'GET', path });
        if (!reply.json) {
          throw new ProviderError(
            'permanent',
            `GET ${path} at ${url}: the answer is not a JSON object`,
          );
        }
        return reply;
      },
      async send(method, path, body, headers) {
        const reply = await ask({ method, path, body, headers });
        if (reply.isGarbage) {
          const message = `${method} ${path} at ${url}: the answer is not a JSON object`;
          throw new ProviderError('permanent', message, { outcome: 'unknown' });
        }
        if (reply.messages.some(({ severity }) => /^(warning|critical)$/i.test(severity))) {
          log.warn({ bmc: url, said: saidIn(reply) }, 'a BMC reports a warning with a success');
        }
        return reply;
      },
      async root(fresh = false) {
        if (root && !fresh) return root;
        const reply = successOf(await read(ROOT_PATH, {}), 'GET', ROOT_PATH);
        if (!reply.json) {
          throw new ProviderError(
            'permanent',
            `${url} has no Redfish: its root is not a JSON object`,
          );
        }
        root = reply.json;
        return root;
      },
    };
    return wire;
  }

  async function inTurn<T>(
    { signal, urgent = false, beside = false }: TurnHow,
    work: (wire: Wire) => Promise<T>,
  ): Promise<T> {
    const wait = beside ? undefined : waitsForTurn?.();
    let end: EndTurn;
    try {
      end = await turns.take(url, { signal, urgent, bulk: beside });
    } catch (cause) {
      if (isProviderError(cause)) throw cause;
      throw new ProviderError('aborted', `the turn at ${url} did not come`, { cause });
    } finally {
      wait?.end();
    }
    try {
      return await work(wireOf(signal));
    } finally {
      end();
    }
  }

  return {
    url,
    /** Runs several requests without another caller's in between. */
    inTurn,
    /** Capabilities that turned out missing, by the callers' names; until a restart. */
    cannot,
    /** Data that do not change, by path; until a restart. */
    remembered,
    /** Data that survive a restart, by the callers' names. */
    lasting,
    /** Consecutive absences of a system, and their start, by the callers' names. */
    sightings: new Map(),
    standing,
    hasSession: login.hasSession,
    /** Ends the session, best effort. */
    async logout(signal: AbortSignal): Promise<void> {
      if (!login.hasSession()) return http.close();
      const send: Plain['send'] = async (method, path, headers, body) => {
        const asked = { method, path, headers, body, timeoutMs: LOGOUT_MS };
        const reply = await exchange(asked, signal).catch((cause: unknown) => {
          if (!(cause instanceof HttpFailure)) throw cause;
          throw failureOf(cause, { doing: 'logout', changing: true, nowMs: clock.now() });
        });
        return readReply(reply, path, createRedact([], login.secrets()));
      };
      let end: EndTurn | undefined;
      try {
        end = await turns.take(url, { signal, urgent: true });
        await login.end({ sessionsPath: async () => null, send });
      } catch (error) {
        // The time limit has passed; the BMC ends the session by itself.
        if (!signal.aborted) throw error;
      } finally {
        end?.();
        http.close();
      }
    },
  };
}
export type Bmc = ReturnType<typeof createBmc>;

/** Aborts some time after `signal`. */
function createGrace(signal: AbortSignal, clock: Clock) {
  const over = new AbortController();
  let timer: unknown;
  const begin = () => {
    timer = clock.setTimeout(() => over.abort(signal.reason), LOGIN_GRACE_MS);
  };
  if (signal.aborted) over.abort(signal.reason);
  else signal.addEventListener('abort', begin, { once: true });
  return {
    signal: over.signal,
    end() {
      signal.removeEventListener('abort', begin);
      clock.clearTimeout(timer);
    },
  };
}

/** True if the login was refused, rather than the request. */
function isLoginRefused(reply: Reply, { scheme }: Shown): boolean {
  if (reply.status === 401) return true;
  if (reply.status !== 403 || scheme === 'session') return false;
  const error = errorOf(reply, { doing: '', changing: false, nowMs: 0 });
  return error.kind === 'auth' && refusalIn(error) !== null;
}
