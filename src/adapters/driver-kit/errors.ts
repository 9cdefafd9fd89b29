import { isProviderError, ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';
import { retryAtOf } from './outcome.ts';

/** Whether the API reported that the object does not exist. */
export const isNotFound = (error: unknown): error is ProviderError =>
  isProviderError(error, 'not-found');

/** Whether the request may have succeeded and was not aborted; a check may tell. */
export const isLost = (error: unknown): boolean =>
  isProviderError(error) && error.outcome === 'unknown' && error.kind !== 'aborted';

/** Statuses that do not refuse: too early or too late, or a proxy answers instead of the API. */
const NO_REFUSAL: ReadonlySet<number> = new Set([403, 404, 408, 410, 425]);

/**
 * Whether the API refused the request's content: nothing was done, and the reason is neither the
 * token, nor a limit, nor a missing object.
 */
export const isRefused = (error: unknown): boolean => {
  if (!isProviderError(error) || error.outcome === 'unknown' || error.rateLimit) return false;
  const { status = 0 } = error.answer ?? {};
  if (error.kind === 'transient' && !error.quota && NO_REFUSAL.has(status)) return false;
  return status >= 400 && status < 500 && error.kind !== 'auth' && error.kind !== 'not-found';
};

/**
 * The same error, marked as possibly successful.
 * @param doing new message, whose cause the error becomes; absent: the error keeps its message.
 */
export function asUnknown<E>(error: E, doing?: string): E | ProviderError {
  if (!isProviderError(error) || error.outcome === 'unknown') return error;
  const { kind, message, rateLimit, quota, capacity, answer } = error;
  return new ProviderError(kind, doing ?? message, {
    outcome: 'unknown',
    cause: doing === undefined ? error.cause : error,
    ...{ ...(rateLimit && { rateLimit }), ...(quota && { quota }) },
    ...{ ...(capacity && { capacity }), ...(answer && { answer }) },
  });
}

/** Returns null for an object that the API says does not exist. */
export const nullIfGone = (error: unknown): null => {
  if (isNotFound(error)) return null;
  throw error;
};

/** An unexpected HTTP answer. */
export interface HttpRefusal {
  /** For example `cannot create a machine on slot 7`. */
  readonly doing: string;
  readonly status: number;
  readonly headers: { get(name: string): string | null | undefined };
  /** The request would have changed something. */
  readonly changing: boolean;
  /**
   * The answer has this API's error format. Only then do 404 and 410 mean that the object does not
   * exist: a proxy answers the same for an unreachable API.
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
 * The port's error for an HTTP status. After 5xx, 408 and answers in another format, a change may
 * have succeeded. An API with other meanings must check its statuses first.
 */
export function httpRefusal(refusal: HttpRefusal): ProviderError {
  const { doing, status, headers, changing, isApisOwn = false, nowMs } = refusal;
  const told = KIND_OF_STATUS[status] ?? (status >= 500 ? 'transient' : 'permanent');
  const isForeign = told === 'not-found' && !isApisOwn;
  const kind = isForeign ? 'transient' : told;
  const isVague = status === 408 || isForeign || (status >= 500 && status !== 501);
  const hint = isForeign ? ", but not in the API's own format: a proxy may have answered" : '';
  return new ProviderError(kind, `${doing}: HTTP status ${status}${hint}`, {
    ...(changing && isVague && { outcome: 'unknown' as const }),
    ...((status === 429 || (status === 503 && headers.get('retry-after'))) && {
      rateLimit: { retryAt: retryAtOf(headers, nowMs) },
    }),
  });
}

/** Fault of the API's base URL, or false: the token must not be sent unencrypted. */
export function baseUrlFault(baseUrl: string, allowInsecureHttp: boolean): string | false {
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) return 'is not an http or https URL';
  if (url.search || url.hash || url.username || url.password) {
    return 'must not have credentials, query or fragment';
  }
  if (url.protocol === 'https:' || allowInsecureHttp) return false;
  return !isLoopbackHost(url.hostname) && 'plain http is allowed for loopback only';
}

/** Whether a URL's host is this computer: then nothing goes over a wire. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
