import type { Clock, Random } from '../../../clock/port.ts';
import type { Log } from '../../../log/port.ts';
import type { Metrics } from '../../../metrics/port.ts';
import type { EquinixConfig, EquinixTimings } from '../settings.ts';
import { endpointName, UNKNOWN_ENDPOINT } from './endpoints.ts';
import { createHttp, HttpFailure, type HttpReply } from './http.ts';
import { isOutOfTime } from './out-of-time.ts';
import { type Redact, shownUrl, shownValue } from '../../kit/redact.ts';
import { createRefusal } from './refusal.ts';

export interface EquinixDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<
    Metrics,
    | 'equinixCall'
    | 'equinixSlots'
    | 'equinixRetry'
    | 'equinixPaused'
    | 'equinixCreate'
    | 'equinixWalk'
  >;
  /** Such as `shepherd/1.2.3`. */
  readonly userAgent?: string;
  /** Live daemons that share the budget of calls; 1 when absent. */
  readonly daemons?: () => number;
  /** See `DriverContext`; when absent nobody minds the wait. */
  readonly waitsForTurn?: () => () => void;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface ExchangeOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** For what of the reply is logged. */
  readonly redact: Redact;
}

/** One HTTP attempt with our headers, measured; knows when the token is of no use. */
export interface Transport {
  /** @throws {HttpFailure} */
  exchange(request: Exchange, token: string, options: ExchangeOptions): Promise<HttpReply>;
  /** The server refused this token within the last `authPauseMs`. */
  isRefused(token: string): boolean;
  close(): void;
}

export function createTransport(
  config: EquinixConfig,
  timings: EquinixTimings,
  deps: EquinixDeps,
): Transport {
  const { clock, log, metrics } = deps;
  const http = createHttp(config.baseUrl, { clock });
  const refusal = createRefusal(timings.authPauseMs, {
    clock,
    onPaused: (pausedMs) => metrics.equinixPaused('unauthorized', pausedMs / 1000),
  });
  const told = new Set<string>();

  const headersFor = (token: string) => ({
    'X-Auth-Token': token,
    'X-Consumer-Token': config.username,
    'Content-Type': 'application/json',
    Accept: 'application/json',
    'User-Agent': deps.userAgent ?? 'shepherd',
  });

  function warnOnce(key: string, fields: object, message: string) {
    if (told.has(key)) return;
    told.add(key);
    log.warn({ provider: config.name, ...fields }, message);
  }

  function noteSunset(endpoint: string, { headers }: HttpReply, redact: Redact) {
    const announced = shownValue(redact, headers['sunset'] ?? headers['deprecation']);
    if (announced === undefined) return;
    warnOnce(`sunset ${endpoint}`, { endpoint, announced }, 'equinix route will be withdrawn');
  }

  function nameOf({ method, path }: Exchange): string {
    const endpoint = endpointName(method, path);
    if (endpoint === UNKNOWN_ENDPOINT) {
      warnOnce(`unknown ${method} ${path}`, { method, path }, 'equinix route has no name');
    }
    return endpoint;
  }

  async function exchange(
    request: Exchange,
    token: string,
    { signal, timeoutMs, redact }: ExchangeOptions,
  ): Promise<HttpReply> {
    const { method, path, query = {}, body } = request;
    const endpoint = nameOf(request);
    const { connectTimeoutMs } = timings;
    const limits = { connectTimeoutMs, timeoutMs, freshConnection: method !== 'GET' };
    const startedMs = clock.monotonic();
    const measure = (status: string, requestId?: string) => {
      const seconds = (clock.monotonic() - startedMs) / 1000;
      metrics.equinixCall(endpoint, status, seconds);
      const fields = { provider: config.name, endpoint, method, url: shownUrl(path, query) };
      log.debug({ ...fields, status, seconds, requestId }, 'equinix attempt');
    };
    try {
      const sent = { method, path, query, body, headers: headersFor(token), ...limits };
      const reply = await http.exchange(sent, signal);
      measure(String(reply.status), shownValue(redact, reply.headers['x-request-id']));
      noteSunset(endpoint, reply, redact);
      if (reply.status === 401) refusal.note(token);
      return reply;
    } catch (error) {
      if (error instanceof HttpFailure) measure(statusOf(error, signal));
      throw error;
    }
  }

  return { exchange, isRefused: refusal.holds, close: () => http.close() };
}

/** What `status_code` is where there was no status. */
function statusOf({ reason }: HttpFailure, signal: AbortSignal): string {
  if (reason === 'timeout') return 'deadline exceeded';
  if (reason !== 'aborted') return 'unknown';
  return isOutOfTime(signal) ? 'deadline exceeded' : 'ctx canceled';
}
