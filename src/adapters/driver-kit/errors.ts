import { ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';
import { retryAtOf } from './outcome.ts';

/** What can go wrong with an operation at an API; a closed set. */
export type ApiErrorKind =
  | 'NoReservationProvided'
  | 'RaceLost'
  | 'InvalidArgument'
  | 'KeyLabelConflict'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'Rejected'
  | 'Capacity'
  | 'RateLimited'
  | 'Network'
  | 'Protocol'
  | 'Deadline'
  | 'Cancelled'
  | 'OutcomeUnknown'
  | 'PartialListing';

export interface ApiErrorFields {
  readonly kind: ApiErrorKind;
  /** Name of the operation, such as `createDevice`. */
  readonly op: string;
  readonly status?: number;
  /** What the server said, shortened and without secrets; or our own words. */
  readonly messages: readonly string[];
  /** HTTP attempts of the whole operation. */
  readonly attempts: number;
  readonly elapsedMs: number;
  /** A mutation was sent and may have taken effect. */
  readonly ambiguous: boolean;
  /** Epoch milliseconds; only with `RateLimited`. */
  readonly retryAt?: number;
  /** Everything that was seen, without what may be missing; only with `PartialListing`. */
  readonly items?: readonly unknown[];
}

/** The one error of an API. Never holds a token, a request body or a reply's text. */
export class ApiError extends Error implements ApiErrorFields {
  readonly kind: ApiErrorKind;
  readonly op: string;
  declare readonly status?: number;
  readonly messages: readonly string[];
  readonly attempts: number;
  readonly elapsedMs: number;
  readonly ambiguous: boolean;
  declare readonly retryAt?: number;
  declare readonly items?: readonly unknown[];
  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    const status = fields.status === undefined ? '' : ` (status ${fields.status})`;
    super(`${fields.op}: ${fields.messages.join('; ') || fields.kind}${status}`, options);
    this.kind = fields.kind;
    this.op = fields.op;
    this.messages = fields.messages;
    this.attempts = fields.attempts;
    this.elapsedMs = fields.elapsedMs;
    this.ambiguous = fields.ambiguous;
    if (fields.status !== undefined) this.status = fields.status;
    if (fields.retryAt !== undefined) this.retryAt = fields.retryAt;
    // Not enumerable: thousands of devices have no place in a log line.
    if (fields.items) Object.defineProperty(this, 'items', { value: fields.items });
  }
  override get name() {
    return `ApiError.${this.kind}`;
  }
}

export const isApiError = (error: unknown, ...kinds: ApiErrorKind[]): error is ApiError =>
  error instanceof ApiError && (kinds.length === 0 || kinds.includes(error.kind));
/** Whether the API said that there is no such thing. */
export const isNotFound = (error: unknown): boolean => isApiError(error, 'NotFound');

/** The same error, marked as possibly having taken effect. */
export const asAmbiguous = (error: ApiError): ApiError =>
  error.ambiguous ? error : new ApiError({ ...fieldsOf(error), ambiguous: true }, causeOf(error));

const fieldsOf = (error: ApiError): ApiErrorFields => ({
  kind: error.kind,
  op: error.op,
  messages: error.messages,
  attempts: error.attempts,
  elapsedMs: error.elapsedMs,
  ambiguous: error.ambiguous,
  ...(error.status === undefined ? {} : { status: error.status }),
  ...(error.retryAt === undefined ? {} : { retryAt: error.retryAt }),
  ...(error.items === undefined ? {} : { items: error.items }),
});
const causeOf = (error: Error): ErrorOptions => ({ cause: error.cause });

const KINDS: Readonly<Record<ApiErrorKind, ProviderErrorKind>> = {
  NoReservationProvided: 'invalid',
  InvalidArgument: 'invalid',
  Rejected: 'invalid',
  Protocol: 'permanent',
  RaceLost: 'race-lost',
  KeyLabelConflict: 'conflict',
  Unauthorized: 'auth',
  Forbidden: 'auth',
  NotFound: 'not-found',
  Capacity: 'transient',
  RateLimited: 'transient',
  Network: 'transient',
  PartialListing: 'transient',
  Deadline: 'transient',
  OutcomeUnknown: 'transient',
  Cancelled: 'aborted',
};

/** Turns an API's error into the port's, and passes everything else. */
export function toProviderError(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const isUnknown = error.ambiguous || error.kind === 'OutcomeUnknown';
  return new ProviderError(KINDS[error.kind], doing, {
    cause: error,
    outcome: isUnknown ? 'unknown' : 'not-done',
    ...(error.retryAt !== undefined && { rateLimit: { retryAt: new Date(error.retryAt) } }),
    ...(error.kind === 'Capacity' && { capacity: { scope: 'plan' as const } }),
  });
}

/** An HTTP answer that is not what was asked for. */
export interface HttpRefusal {
  /** Such as `cannot create a machine on slot 7`. */
  readonly doing: string;
  readonly status: number;
  readonly headers: { get(name: string): string | null | undefined };
  /** The request would have changed something. */
  readonly changing: boolean;
  /**
   * The answer has the form in which this API tells its errors. Only then do 404 and 410 mean that
   * there is no such thing: a proxy says the same of what it cannot reach.
   */
  readonly isApisOwn?: boolean;
  readonly nowMs: number;
}

const KIND_OF_STATUS: Readonly<Record<number, ProviderErrorKind>> = {
  400: 'invalid',
  401: 'auth',
  403: 'auth',
  404: 'not-found',
  405: 'not-implemented',
  408: 'transient',
  409: 'conflict',
  410: 'not-found',
  422: 'invalid',
  429: 'transient',
  501: 'not-implemented',
};

/**
 * The port's error for an answer with a status that speaks for itself. After 5xx, 408 and what is not
 * the API's own nobody knows whether a changing request was carried out. An API that means something else by a status
 * needs a look at that first.
 */
export function httpRefusal(refusal: HttpRefusal): ProviderError {
  const { doing, status, headers, changing, isApisOwn = false, nowMs } = refusal;
  const told = KIND_OF_STATUS[status] ?? (status >= 500 ? 'transient' : 'permanent');
  const isForeign = told === 'not-found' && !isApisOwn;
  const kind = isForeign ? 'transient' : told;
  const isVague = status === 408 || isForeign || (status >= 500 && status !== 501);
  const hint = isForeign ? ", and not in the API's own form: a proxy may have answered" : '';
  return new ProviderError(kind, `${doing}: HTTP status ${status}${hint}`, {
    ...(changing && isVague && { outcome: 'unknown' as const }),
    ...((status === 429 || (status === 503 && headers.get('retry-after'))) && {
      rateLimit: { retryAt: retryAtOf(headers, nowMs) },
    }),
  });
}

/** What is wrong with the base URL of the API, or false: the token must not travel in the clear. */
export function baseUrlFault(baseUrl: string, allowInsecureHttp: boolean): string | false {
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) return 'is no http or https URL';
  if (url.search || url.hash || url.username || url.password) {
    return 'must not have credentials, query or fragment';
  }
  if (url.protocol === 'https:' || allowInsecureHttp) return false;
  return !isLoopbackHost(url.hostname) && 'plain http is allowed to loopback only';
}

/** Whether a URL's host is this computer: what is said to it goes over no wire. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
