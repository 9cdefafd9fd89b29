import { explain } from '../../domain/errors.ts';
import { DELIVERY_LIMIT_MS, type DeliveryAnswer } from '../../domain/events/retries.ts';
import type { Clock } from '../clock/port.ts';
import { createHttp } from '../driver-kit/exchange.ts';
import { retryAfterMs } from '../driver-kit/outcome.ts';
import type { WebhookSender } from './port.ts';
import { signedHeaders } from './sign.ts';

export interface HttpSenderOptions {
  readonly url: string;
  /** Read at each delivery, so that one that was replaced is found. */
  readonly secrets: readonly (() => string)[];
  readonly userAgent: string;
  readonly clock: Clock;
}

/** What a receiver writes beside status and headers is let pass within these limits, and not looked at. */
const BODY_BYTES_MAX = 64 * 1024;
const BODY_MS = 1_000;

/** A receiver by HTTP. Redirects are not followed. */
export function createHttpSender({
  url,
  secrets,
  userAgent,
  clock,
}: HttpSenderOptions): WebhookSender {
  const { pathname, searchParams } = new URL(url);
  const terms = { baseUrl: url, replyBytesMax: BODY_BYTES_MAX, passesBodiesMs: BODY_MS };
  const http = createHttp(terms, { clock });
  return {
    async send({ id, body }, signal): Promise<DeliveryAnswer> {
      try {
        const timestamp = Math.floor(clock.now() / 1_000);
        const signed = signedHeaders(
          { id, timestamp, body },
          secrets.map((read) => read()),
        );
        const { status, headers } = await http.exchange(
          {
            method: 'POST',
            path: pathname.endsWith('/') ? '/' : '',
            query: searchParams,
            payload: body,
            headers: {
              'Content-Type': 'application/cloudevents+json; charset=utf-8',
              'User-Agent': userAgent,
              ...signed,
            },
            connectTimeoutMs: DELIVERY_LIMIT_MS,
            timeoutMs: DELIVERY_LIMIT_MS,
            freshConnection: false,
          },
          signal,
        );
        const after = headers['retry-after'];
        const date = headers.date ?? null;
        const waitMs = after === undefined ? null : retryAfterMs(after, date, clock.now());
        return { status, retryAfterMs: waitMs };
      } catch (error) {
        if (signal.aborted) throw error;
        return { status: null, cause: explain(error) };
      }
    },
    close: () => http.close(),
  };
}
