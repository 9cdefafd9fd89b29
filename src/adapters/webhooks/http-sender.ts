import { explain, UsageError } from '../../domain/errors.ts';
import {
  DELIVERY_LIMIT_MS,
  type DeliveryAnswer,
  signingSecretOf,
} from '../../domain/events/retries.ts';
import type { Clock } from '../clock/port.ts';
import { createHttp } from '../driver-kit/exchange.ts';
import { retryAfterMs } from '../driver-kit/outcome.ts';
import type { WebhookSender } from './port.ts';
import { createHmac, createPrivateKey, sign, type KeyObject } from 'node:crypto';

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

/** What is signed: the id, when it is sent, and the body as it is sent. */
export interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** What stands before the seed of an ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/**
 * The headers by which a receiver knows who sent a message, as Standard Webhooks 1.0 has them. One
 * signature for each secret: two while they are changed.
 * @throws {UsageError} one of the secrets is none.
 */
export function signedHeaders(message: Message, secrets: readonly string[]) {
  const { id, timestamp, body } = message;
  const content = `${id}.${timestamp}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureOf(content, secret)).join(' '),
  };
}

function signatureOf(content: string, secret: string): string {
  const found = signingSecretOf(secret);
  if (!found) throw new UsageError('a secret of a webhook is neither whsec_… nor whsk_…');
  const key = Buffer.from(found.base64, 'base64');
  return found.kind === 'hmac'
    ? `v1,${createHmac('sha256', key).update(content).digest('base64')}`
    : `v1a,${sign(null, Buffer.from(content), ed25519Key(key)).toString('base64')}`;
}

const ed25519Key = (key: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8, key.subarray(0, SEED_BYTES)]),
    format: 'der',
    type: 'pkcs8',
  });
