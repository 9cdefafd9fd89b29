import type { z } from 'zod';
import type { ProviderErrorFacets, ProviderErrorKind } from '../../domain/errors.ts';
import type { HttpFailure, HttpReply } from './exchange.ts';
import type { Redact } from './redaction.ts';

/** Where an answer is unexpected: paths and expected types; never values. */
export const placesOf = (error: z.ZodError): string =>
  error.issues
    .slice(0, 5)
    .map((issue) => {
      const expected = issue.code === 'invalid_type' ? ` (expected ${issue.expected})` : '';
      return `${jsonPath(issue.path)}${expected}`;
    })
    .join(', ');

const jsonPath = (path: readonly PropertyKey[]): string =>
  `$${path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`;

const ABSENT_MS = 60_000;
const UNREADABLE_MS = 20_000;
const LONGEST_MS = 3_600_000;

/** An HTTP date begins with a weekday; `Date.parse` alone accepts almost anything. */
const HTTP_DATE = /^[A-Z][a-z]+,? .*\d{2}:\d{2}:\d{2}/;

/**
 * When to retry, by our clock, after "too many requests". `Retry-After` in seconds counts from now;
 * a date is relative to the answer's own `Date`, because the API's clock may differ. Absent: in 60
 * s; unreadable: in 20 s; at most an hour. May be in the past, and then means nothing.
 * @param headers `Headers`, or any object that finds a header by its lower-case name.
 */
export function retryAtOf(
  headers: { get(name: string): string | null | undefined },
  nowMs: number,
): Date {
  const retryAfter = headers.get('retry-after') ?? null;
  const date = headers.get('date') ?? null;
  const waitMs = retryAfter === null ? ABSENT_MS : retryAfterMs(retryAfter, date, nowMs);
  return new Date(nowMs + Math.min(LONGEST_MS, waitMs));
}

/**
 * Milliseconds in `Retry-After`: a number of seconds (no sign, no fraction) or an HTTP date, by RFC
 * 9110. Anything else is unreadable, and means 20 s.
 */
export function retryAfterMs(retryAfter: string, date: string | null, nowMs: number): number {
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const untilMs = dateOf(text);
  return untilMs === null ? UNREADABLE_MS : untilMs - (dateOf(date ?? '') ?? nowMs);
}

/** Null if the text is no HTTP date. */
export function dateOf(text: string): number | null {
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(atMs) ? atMs : null;
}

/** How to read the answers of one API. */
export interface AnswerForm {
  /** Texts of an error in the API's own format; null if it has another format. */
  errorsIn(json: unknown): readonly string[] | null;
  /**
   * Statuses that mean that an object does not exist. They count only in the API's own format:
   * proxies send the same numbers for their own reasons.
   */
  readonly tellsAbsence: ReadonlySet<number>;
  /** An answer without a content type is JSON. */
  readonly untypedIsJson?: boolean;
  /** Unusual meaning of a status from 400; undefined: the usual. `auth` refuses the token. */
  meaningOf?(refusal: Refusal): Meaning | undefined;
  /**
   * Whether an answer from 400 asks to stay away. Undefined: the usual rule, which is 429 with the
   * wait `waitAskedMs`. Called first.
   */
  staysAway?(refusal: Refusal): StayAway | undefined;
}
/** The port's meaning of an answer. */
export interface Meaning extends Pick<ProviderErrorFacets, 'capacity' | 'quota'> {
  readonly kind: ProviderErrorKind;
  /** Additional text for people. */
  readonly hint?: string;
  /** No repetition for this long. */
  readonly waitMs?: number;
}
export interface Refusal {
  readonly endpoint: string;
  readonly mutates: boolean;
  readonly status: number;
  /** Texts in the API's own format; empty for other formats. */
  readonly messages: readonly string[];
  /** The body; undefined if there is none, or it is not JSON. */
  readonly json: unknown;
  /** Wait in `Retry-After` or `X-RateLimit-Reset`; 0: none. */
  readonly waitAskedMs: number;
  /** Consecutive answers of this call class that asked to stay away, from 1. */
  readonly inARow: number;
}
export interface StayAway {
  readonly waitMs: number;
  /** A change may have succeeded nevertheless. */
  readonly ambiguous?: boolean;
}

/** What one HTTP attempt means for its operation. */
export type Verdict<T> =
  | { readonly type: 'ok'; readonly value: T }
  /** Nothing was changed, or it is a read: a repetition is safe. `waitMs` is the minimum wait. */
  | {
      readonly type: 'retry';
      readonly failure: Failure;
      readonly waitMs: number;
      /** `client`: the server slows all our requests down. `malformed`: only few repetitions. */
      readonly limit: 'none' | 'client' | 'malformed';
      readonly reason: RetryReason;
    }
  /** Permanent. */
  | { readonly type: 'fail'; readonly failure: Failure; readonly isTokenRefused?: boolean }
  /** A mutation that may have succeeded. */
  | {
      readonly type: 'ambiguous';
      readonly failure: Failure;
      /** The server asks to stay away for this long. */
      readonly waitMs?: number;
    };

/** Reason for a repetition, as in metrics. */
export type RetryReason =
  | 'rate_limit'
  | 'status'
  | 'malformed'
  | 'network'
  | 'timeout'
  | 'token'
  | 'ambiguous';

export interface Failure extends Meaning {
  readonly status?: number;
  readonly messages: readonly string[];
  readonly cause?: unknown;
}

export interface Attempted<T> {
  readonly form: AnswerForm;
  readonly endpoint: string;
  readonly mutates: boolean;
  readonly schema: z.ZodType<T>;
  /** The body of a success is not read: the schema gets nothing. */
  readonly ignoresReply?: boolean;
  readonly redact: Redact;
  /** See `Refusal.inARow`, including this answer. */
  readonly inARow?: number;
}

/**
 * Judges a complete reply; the schema may be asynchronous, so that a long listing does not block.
 * `nowMs` (epoch) is used if the reply has no `Date`.
 */
export async function judgeReply<T>(
  attempted: Attempted<T>,
  reply: HttpReply,
  nowMs: number,
): Promise<Verdict<T>> {
  const { status } = reply;
  if (status >= 200 && status < 300) return judgeSuccess(attempted, reply);
  return judgeRefusal(attempted, { ...reply, json: parseJson(reply.text) }, nowMs);
}

/** A reply with its parsed text. */
interface ParsedReply extends HttpReply {
  readonly json: unknown;
}

function judgeRefusal<T>(attempted: Attempted<T>, reply: ParsedReply, nowMs: number): Verdict<T> {
  const { status } = reply;
  const { endpoint, form, mutates, inARow = 1 } = attempted;
  const messages = messagesOf(reply.json, attempted);
  const failure = (kind: ProviderErrorKind): Failure => ({ kind, status, messages });
  const waitAskedMs = waitAsked(reply, nowMs);
  const json = reply.json === NOT_JSON ? undefined : reply.json;
  const refusal = { endpoint, mutates, status, messages, json, waitAskedMs, inARow };
  const away = status >= 400 ? form.staysAway?.(refusal) : undefined;
  if (away?.ambiguous && mutates) {
    return { type: 'ambiguous', failure: failure('transient'), waitMs: away.waitMs };
  }
  if (away) return askedAway(failure('transient'), away.waitMs);
  const foreign = foreignReply(reply, attempted);
  if (foreign !== null) return notTheApi(attempted, { status, messages: [foreign] });
  if (status >= 300 && status < 400) {
    // A proxy may have sent it after the change succeeded.
    return {
      type: attempted.mutates ? 'ambiguous' : 'fail',
      failure: { kind: 'permanent', status, messages: ['refused to redirect'] },
    };
  }
  if (status === 429) return askedAway(failure('transient'), waitAskedMs);
  const told = form.meaningOf?.(refusal);
  const isTokenRefused = status === 401 || told?.kind === 'auth';
  if (told) return { type: 'fail', failure: { status, messages, ...told }, isTokenRefused };
  // 425 says that nothing was done; 408 may come from a proxy that gave up on the server.
  if (status === 425 || (status === 408 && !attempted.mutates)) {
    return retry(failure('transient'), 'status');
  }
  if (status === 408) return { type: 'ambiguous', failure: failure('transient') };
  if (status < 500) {
    return { type: 'fail', failure: failure(REFUSALS[status] ?? 'invalid'), isTokenRefused };
  }
  if (attempted.mutates) return { type: 'ambiguous', failure: failure('transient') };
  return retry(failure('transient'), 'status', waitAskedMs);
}

/** Milliseconds to stay away, as the answer asks; null if it does not. */
export function waitAskedBy(verdict: Verdict<unknown>): number | null {
  if (verdict.type === 'ambiguous') return verdict.waitMs ?? null;
  return verdict.type === 'retry' && verdict.limit === 'client' ? verdict.waitMs : null;
}

const askedAway = (failure: Failure, waitMs: number) =>
  ({ type: 'retry', limit: 'client', reason: 'rate_limit', failure, waitMs }) as const;

/** A change may have reached the API behind; a read gets few repetitions. */
const notTheApi = ({ mutates }: { mutates: boolean }, failure: Omit<Failure, 'kind'>) =>
  mutates
    ? ({ type: 'ambiguous', failure: { ...failure, kind: 'transient' } } as const)
    : ({ ...retry({ ...failure, kind: 'transient' }, 'malformed'), limit: 'malformed' } as const);

const retry = (failure: Failure, reason: RetryReason, waitMs = 0) =>
  ({ type: 'retry', failure, waitMs, limit: 'none', reason }) as const;

const REFUSALS: Readonly<Record<number, ProviderErrorKind>> = {
  401: 'auth',
  403: 'auth',
  404: 'not-found',
};

/** Judges an exchange without a complete reply. */
export function judgeFailure(attempted: { mutates: boolean }, error: HttpFailure): Verdict<never> {
  const kind = KIND_OF_FAILURE[error.reason];
  const failure: Failure = { kind, messages: [error.message], cause: error };
  if (error.reason === 'certificate' || error.reason === 'unsendable') {
    return { type: 'fail', failure };
  }
  if (attempted.mutates && error.sent) {
    return { type: 'ambiguous', failure: { ...failure, kind: 'transient' } };
  }
  if (kind === 'permanent') return { type: 'fail', failure };
  return retry(failure, error.reason === 'timeout' ? 'timeout' : 'network');
}

const KIND_OF_FAILURE: Readonly<Record<HttpFailure['reason'], ProviderErrorKind>> = {
  transport: 'transient',
  timeout: 'transient',
  certificate: 'transient',
  aborted: 'aborted',
  oversize: 'permanent',
  unsendable: 'invalid',
};

async function judgeSuccess<T>(attempted: Attempted<T>, reply: HttpReply): Promise<Verdict<T>> {
  const { mutates, schema, ignoresReply = false } = attempted;
  if (ignoresReply) return { type: 'ok', value: await schema.parseAsync(undefined) };
  const malformed = (text: string): Verdict<T> => {
    const failure = { kind: 'permanent' as const, status: reply.status, messages: [text] };
    return mutates
      ? { type: 'ambiguous', failure }
      : { ...retry(failure, 'malformed'), limit: 'malformed' };
  };
  const json = parseJson(reply.text);
  if (json === NOT_JSON) return malformed('the reply is not JSON');
  // A success that contains errors is a failure, whatever its status.
  if (namesErrors(json)) {
    const said = messagesOf(json, attempted).join('; ') || 'in an unknown format';
    return malformed(`the reply is a success but contains errors: ${said}`);
  }
  const parsed = await schema.safeParseAsync(withoutNulls(json));
  return parsed.success
    ? { type: 'ok', value: parsed.data }
    : malformed(`the reply is malformed: ${placesOf(parsed.error)}`);
}

/** Accepts any error format, because proxies have their own. */
function namesErrors(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const { error, errors } = json as Readonly<Record<string, unknown>>;
  return [error, errors].some((told) => (Array.isArray(told) ? told.length > 0 : Boolean(told)));
}

const NOT_JSON = Symbol('not JSON');
/** Undefined for an empty text. The parser's own error quotes the text, so it is dropped. */
function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

/** Deeper values are dropped, because they could exhaust the stack; no API nests this deep. */
const DEPTH_MAX = 64;

/** Null and a missing field mean the same. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object') return value;
  if (value === null || depth > DEPTH_MAX) return undefined;
  const inner = (item: unknown) => withoutNulls(item, depth + 1);
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(inner);
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([key, item]) => [key, inner(item)]));
}

/** Texts in the API's own format only. Redacted first, because a cut secret would escape. */
function messagesOf(
  json: unknown,
  { form, redact }: Pick<Attempted<unknown>, 'form' | 'redact'>,
): string[] {
  const texts = form.errorsIn(json) ?? [];
  return texts.slice(0, 5).map((message) => redact(message).slice(0, 300));
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * Describes a reply that claims absence in a format other than the API's; null for all others. A
 * forbidden change was not made, whoever says so.
 */
function foreignReply(
  { status, headers, text, json }: ParsedReply,
  { form, mutates }: Pick<Attempted<unknown>, 'form' | 'mutates'>,
): string | null {
  if (!form.tellsAbsence.has(status) || (status === 403 && mutates)) return null;
  const type = headers['content-type'] ?? '';
  const isJson = JSON_TYPE.test(type) || (type === '' && form.untypedIsJson === true);
  if (isJson && form.errorsIn(json) !== null) return null;
  const what = `${/^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? 'no type'}, ${Buffer.byteLength(text)} bytes`;
  return `the answer does not have the API's error format (${what}): a proxy may have answered`;
}

const WAIT_MAX_MS = 3_600_000;

/**
 * Milliseconds that the server asks to stay away: `Retry-After` (seconds or HTTP date), or
 * `X-RateLimit-Reset` if nothing remains; 0 if absent. At most one hour.
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
