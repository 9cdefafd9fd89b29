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
  /** Read at each delivery, so that a replaced secret is used. */
  readonly secrets: readonly (() => string)[];
  readonly userAgent: string;
  readonly clock: Clock;
}

/** Limits for the receiver's response body, which is discarded. */
const BODY_BYTES_MAX = 64 * 1024;
const BODY_MS = 1_000;

/** Sends to a receiver over HTTP. Redirects are not followed. */
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

/** What is signed: the id, the time of sending, and the body as sent. */
export interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** PKCS #8 prefix of an Ed25519 seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/**
 * Headers by which a receiver verifies the sender, as in Standard Webhooks 1.0. One signature per
 * secret: two during a change of secrets.
 * @throws {UsageError} a secret is invalid.
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
  if (!found) throw new UsageError('a webhook secret begins with neither whsec_ nor whsk_');
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
