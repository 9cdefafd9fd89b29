const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first failure, the second, …; after the last pause, a delivery is dead. */
export const RETRY_PAUSES_MS: readonly number[] = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
];
/** Maximum random share by which a pause is lengthened, so that retries spread. */
export const RETRY_JITTER = 0.2;
/** Longest pause that a receiver can request. */
export const RETRY_AFTER_MAX_MS = 24 * HOUR;
/** Time limit for a receiver's answer. */
export const DELIVERY_LIMIT_MS = 15 * SECOND;

/** A receiver's answer. */
export type DeliveryAnswer =
  | { readonly status: number; readonly retryAfterMs: number | null }
  /** No answer, or none in time. */
  | { readonly status: null; readonly cause: string };

/** What happens to a delivery. */
export type DeliveryVerdict =
  | { readonly verdict: 'delivered' }
  | {
      readonly verdict: 'retry';
      readonly inMs: number;
      readonly status: number | null;
      readonly cause: string;
    }
  | { readonly verdict: 'dead'; readonly status: number | null; readonly cause: string }
  /** The receiver is gone for good: deliveries stop, and this one is retried when it is enabled. */
  | { readonly verdict: 'disabled'; readonly status: number; readonly cause: string };

const GONE = 410;
const isSuccess = (status: number) => status >= 200 && status < 300;
const isRedirect = (status: number) => status >= 300 && status < 400;

/**
 * @param attempts number of attempts, including this one.
 * @param chance from 0 to 1.
 */
export function verdictOn(
  answer: DeliveryAnswer,
  attempts: number,
  chance: number,
): DeliveryVerdict {
  const { status } = answer;
  if (status !== null && isSuccess(status)) return { verdict: 'delivered' };
  if (status === GONE) return { verdict: 'disabled', status, cause: 'it answered 410: gone' };
  const cause = causeOf(answer);
  const pauseMs = RETRY_PAUSES_MS[attempts - 1];
  if (pauseMs === undefined) return { verdict: 'dead', status, cause };
  const askedMs = (status === null ? null : answer.retryAfterMs) ?? 0;
  const ownMs = pauseMs * (1 + RETRY_JITTER * chance);
  const inMs = Math.round(Math.max(ownMs, Math.min(RETRY_AFTER_MAX_MS, askedMs)));
  return { verdict: 'retry', inMs, status, cause };
}

function causeOf(answer: DeliveryAnswer): string {
  if (answer.status === null) return answer.cause;
  const { status } = answer;
  return isRedirect(status)
    ? `it answered ${status}: redirects are not followed`
    : `it answered ${status}`;
}

/** Formats of webhook secrets, from Standard Webhooks. */
const KINDS = {
  /** For HMAC-SHA256, signature `v1`. */
  whsec_: { leastBytes: 24, mostBytes: 64, kind: 'hmac' },
  /** For ed25519, signature `v1a`: the 32-byte secret key, or this key and the public key. */
  whsk_: { leastBytes: 32, mostBytes: 64, kind: 'ed25519' },
} as const;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export interface SigningSecret {
  readonly kind: 'hmac' | 'ed25519';
  readonly base64: string;
}

/** Null: the text is no secret. */
export function signingSecretOf(text: string): SigningSecret | null {
  const [, prefix, base64] = /^(whsec_|whsk_)(.+)$/.exec(text.trim()) ?? [];
  if (base64 === undefined || !BASE64.test(base64)) return null;
  const { leastBytes, mostBytes, kind } = KINDS[prefix as keyof typeof KINDS];
  const bytes = (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0);
  const isLong = kind === 'ed25519' ? bytes === leastBytes || bytes === mostBytes : true;
  return isLong && bytes >= leastBytes && bytes <= mostBytes ? { kind, base64 } : null;
}
