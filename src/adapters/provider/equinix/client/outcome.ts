import type { z } from 'zod';
import type { EquinixKind } from './errors.ts';
import { dateOf, retryAfterMs } from '../../kit/retry-time.ts';
import type { HttpFailure, HttpReply } from './http.ts';
import { errorBody, foreignReply } from './own-form.ts';
import type { Redact } from '../../kit/redact.ts';
import { placesOf } from './schema.ts';

/** What one HTTP attempt means for its operation. */
export type Verdict<T> =
  | { readonly type: 'ok'; readonly value: T }
  /** Nothing was changed, or it is a read: repeating is safe. `waitMs` is the least wait. */
  | {
      readonly type: 'retry';
      readonly failure: Failure;
      readonly waitMs: number;
      /** `client`: the server slows all of us down. `malformed`: worth few repetitions only. */
      readonly limit: 'none' | 'client' | 'malformed';
      readonly reason: RetryReason;
    }
  /** Permanent. */
  | { readonly type: 'fail'; readonly failure: Failure }
  /** A mutation that may have taken effect. */
  | { readonly type: 'ambiguous'; readonly failure: Failure };

/** Why an attempt is repeated, as metrics show it. */
export type RetryReason =
  'rate_limit' | 'status' | 'malformed' | 'network' | 'timeout' | 'token' | 'ambiguous';

export interface Failure {
  readonly kind: EquinixKind;
  readonly status?: number;
  readonly messages: readonly string[];
  readonly cause?: unknown;
}

export interface Attempted<T> {
  readonly endpoint: string;
  readonly mutates: boolean;
  readonly schema: z.ZodType<T>;
  readonly redact: Redact;
}

/** Judges a complete reply. `nowMs` (epoch) is used where the reply has no `Date`. */
export function judgeReply<T>(
  attempted: Attempted<T>,
  reply: HttpReply,
  nowMs: number,
): Verdict<T> {
  const { status } = reply;
  if (status >= 200 && status < 300) return judgeSuccess(attempted, reply);
  const foreign = foreignReply(reply, attempted);
  if (foreign !== null) return notTheApi(attempted, { status, messages: [foreign] });
  const messages = messagesOf(reply, attempted.redact);
  const failure = (kind: EquinixKind): Failure => ({ kind, status, messages });
  if (status >= 300 && status < 400) {
    // A proxy may have sent it after the change was made.
    return {
      type: attempted.mutates ? 'ambiguous' : 'fail',
      failure: { kind: 'Protocol', status, messages: ['refused to redirect'] },
    };
  }
  if (status === 429) {
    const waitMs = waitAsked(reply, nowMs);
    const limited = { failure: failure('RateLimited'), waitMs, reason: 'rate_limit' } as const;
    return { type: 'retry', limit: 'client', ...limited };
  }
  // 425 says that nothing was done; 408 may come from a proxy that gave up on the server.
  if (status === 425 || (status === 408 && !attempted.mutates)) {
    return retry(failure('Network'), 'status');
  }
  if (status === 408) return { type: 'ambiguous', failure: failure('OutcomeUnknown') };
  if (status < 500) return { type: 'fail', failure: failure(REFUSALS[status] ?? 'Rejected') };
  if (isCapacity(attempted, failure('Capacity'))) {
    return { type: 'fail', failure: failure('Capacity') };
  }
  if (attempted.mutates) return { type: 'ambiguous', failure: failure('OutcomeUnknown') };
  return retry(failure('Network'), 'status', waitAsked(reply, nowMs));
}

/** Nobody knows whether a change reached the API behind; a read is worth few repetitions. */
const notTheApi = ({ mutates }: { mutates: boolean }, failure: Omit<Failure, 'kind'>) =>
  mutates
    ? ({ type: 'ambiguous', failure: { ...failure, kind: 'OutcomeUnknown' } } as const)
    : ({ ...retry({ ...failure, kind: 'Network' }, 'malformed'), limit: 'malformed' } as const);

const retry = (failure: Failure, reason: RetryReason, waitMs = 0) =>
  ({ type: 'retry', failure, waitMs, limit: 'none', reason }) as const;

const REFUSALS: Readonly<Record<number, EquinixKind>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
};

const isCapacity = ({ endpoint }: { endpoint: string }, { status, messages }: Failure): boolean =>
  endpoint === 'CreateDevice' &&
  status === 503 &&
  messages.some((text) => /hardware reservation|capacity|not enough|no provisionable/i.test(text));

/** Judges an exchange that gave no complete reply. */
export function judgeFailure(attempted: { mutates: boolean }, error: HttpFailure): Verdict<never> {
  const kind = KIND_OF_FAILURE[error.reason];
  const failure: Failure = { kind, messages: [error.message], cause: error };
  if (error.reason === 'certificate' || error.reason === 'unsendable') {
    return { type: 'fail', failure };
  }
  if (attempted.mutates && error.sent) {
    return { type: 'ambiguous', failure: { ...failure, kind: 'OutcomeUnknown' } };
  }
  if (kind === 'Protocol') return { type: 'fail', failure };
  return retry(failure, error.reason === 'timeout' ? 'timeout' : 'network');
}

const KIND_OF_FAILURE: Readonly<Record<HttpFailure['reason'], EquinixKind>> = {
  transport: 'Network',
  timeout: 'Network',
  certificate: 'Network',
  aborted: 'Cancelled',
  oversize: 'Protocol',
  unsendable: 'InvalidArgument',
};

function judgeSuccess<T>({ mutates, schema, redact }: Attempted<T>, reply: HttpReply): Verdict<T> {
  const malformed = (text: string): Verdict<T> => {
    const failure = { kind: 'Protocol' as const, status: reply.status, messages: [text] };
    return mutates
      ? { type: 'ambiguous', failure }
      : { ...retry(failure, 'malformed'), limit: 'malformed' };
  };
  const json = parseJson(reply.text);
  if (json === NOT_JSON) return malformed('the reply is not JSON');
  // A success that names errors is none, whatever its status says.
  if (namesErrors(json)) {
    const said = messagesOf(reply, redact).join('; ') || 'in a form of their own';
    return malformed(`the reply is a success that names errors: ${said}`);
  }
  const parsed = schema.safeParse(withoutNulls(json));
  return parsed.success
    ? { type: 'ok', value: parsed.data }
    : malformed(`the reply is not as agreed: ${placesOf(parsed.error)}`);
}

/** In whatever form: what stands before the API has one of its own. */
function namesErrors(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const { error, errors } = json as Readonly<Record<string, unknown>>;
  return [error, errors].some((told) => (Array.isArray(told) ? told.length > 0 : Boolean(told)));
}

const NOT_JSON = Symbol('not JSON');
/** An empty text is `undefined`. The parser's own error quotes the text, so it is not kept. */
function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

/** Nothing of this API lies deeper; what does is left out, or it could exhaust the stack. */
const DEPTH_MAX = 64;

/** Null and a missing field mean the same on this API. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object') return value;
  if (value === null || depth > DEPTH_MAX) return undefined;
  const inner = (item: unknown) => withoutNulls(item, depth + 1);
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(inner);
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([key, item]) => [key, inner(item)]));
}

/**
 * What the server says in one of its two forms; nothing from a page that is neither. Redacted before
 * it is shortened, or half a secret could stay.
 */
function messagesOf({ text }: HttpReply, redact: Redact): string[] {
  const parsed = errorBody.safeParse(parseJson(text));
  if (!parsed.success) return [];
  return parsed.data.errors.slice(0, 5).map((message) => redact(message).slice(0, 300));
}

const WAIT_MAX_MS = 3_600_000;

/**
 * Milliseconds the server wants us to stay away: `Retry-After` (seconds or HTTP date), or
 * `X-RateLimit-Reset` when nothing remains; 0 when it says nothing. At most one hour.
 */
export function waitAsked({ headers }: Pick<HttpReply, 'headers'>, nowMs: number): number {
  const { date = '', 'retry-after': retryAfter } = headers;
  const retryMs = retryAfter === undefined ? 0 : retryAfterMs(retryAfter, date, nowMs);
  const serverNowMs = dateOf(date) ?? nowMs;
  const resetMs =
    headers['x-ratelimit-remaining'] === '0'
      ? Number(headers['x-ratelimit-reset']) * 1000 - serverNowMs
      : 0;
  const waitMs = Math.max(retryMs, Number.isNaN(resetMs) ? 0 : resetMs, 0);
  return Math.min(waitMs, WAIT_MAX_MS);
}
