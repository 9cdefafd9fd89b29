import type { ApiTerms, Exchange } from './api.ts';
import { JSON_BODY } from './encoding.ts';
import type { HttpRequest } from './exchange.ts';

interface Sender {
  readonly token: string;
  readonly timeoutMs: number;
  readonly userAgent: string | undefined;
}

/** A request of an API as it goes out. */
export function toSend(
  { method, path, query = {}, body, headers }: Exchange,
  { encoding = JSON_BODY, headersFor, timings }: ApiTerms,
  { token, timeoutMs, userAgent = 'shepherd' }: Sender,
): HttpRequest {
  return {
    method,
    path,
    query,
    payload: body === undefined ? null : encoding.write(body),
    headers: {
      'Content-Type': encoding.contentType,
      Accept: 'application/json',
      'User-Agent': userAgent,
      ...headersFor(token),
      ...headers,
    },
    connectTimeoutMs: timings.connectTimeoutMs,
    timeoutMs,
    freshConnection: method !== 'GET',
  };
}
