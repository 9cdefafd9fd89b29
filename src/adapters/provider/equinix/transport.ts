import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import type { EquinixConfig, EquinixTimings } from './config.ts';
import { endpointName } from './endpoints.ts';
import { createHttp, HttpFailure, type HttpReply } from './http.ts';

export interface EquinixDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'equinixCall' | 'equinixSlots'>;
  /** Such as `shepherd/1.2.3`. */
  readonly userAgent?: string;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  /** Below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One HTTP attempt with our headers, measured; knows when the token is of no use. */
export interface Transport {
  /** @throws {HttpFailure} */
  exchange(
    request: Exchange,
    token: string,
    limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<HttpReply>;
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
  const sunsets = new Set<string>();
  let refused: { readonly token: string; readonly untilMs: number } | null = null;

  const headersFor = (token: string) => ({
    'X-Auth-Token': token,
    'X-Consumer-Token': config.username,
    'Content-Type': 'application/json',
    Accept: 'application/json',
    'User-Agent': deps.userAgent ?? 'shepherd',
  });

  function noteSunset(endpoint: string, { headers }: HttpReply) {
    const announced = headers['sunset'] ?? headers['deprecation'];
    if (announced === undefined || sunsets.has(endpoint)) return;
    sunsets.add(endpoint);
    log.warn({ provider: config.name, endpoint, announced }, 'equinix route will be withdrawn');
  }

  async function exchange(
    request: Exchange,
    token: string,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<HttpReply> {
    const { method, path, query = {}, body } = request;
    const endpoint = endpointName(method, path);
    const { connectTimeoutMs } = timings;
    const limits = { connectTimeoutMs, timeoutMs, freshConnection: method !== 'GET' };
    const startedMs = clock.monotonic();
    const measure = (status: string) => {
      const seconds = (clock.monotonic() - startedMs) / 1000;
      metrics.equinixCall(endpoint, status, seconds);
      log.debug({ provider: config.name, endpoint, status, seconds }, 'equinix attempt');
    };
    try {
      const sent = { method, path, query, body, headers: headersFor(token), ...limits };
      const reply = await http.exchange(sent, signal);
      measure(String(reply.status));
      noteSunset(endpoint, reply);
      if (reply.status === 401) refused = { token, untilMs: startedMs + timings.authPauseMs };
      return reply;
    } catch (error) {
      if (error instanceof HttpFailure) measure(STATUS_OF_FAILURE[error.reason]);
      throw error;
    }
  }

  return {
    exchange,
    isRefused: (token) => refused?.token === token && refused.untilMs > clock.monotonic(),
    close: () => http.close(),
  };
}

const STATUS_OF_FAILURE: Record<HttpFailure['reason'], string> = {
  transport: 'unknown',
  certificate: 'unknown',
  oversize: 'unknown',
  timeout: 'deadline exceeded',
  aborted: 'ctx canceled',
};
