import { isProviderError, ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';
import { retryAtOf } from './outcome.ts';

/** Whether the API said that there is no such thing. */
export const isNotFound = (error: unknown): error is ProviderError =>
  isProviderError(error, 'not-found');

/** Whether it may have been carried out, and nobody called it off: looking may tell. */
export const isLost = (error: unknown): boolean =>
  isProviderError(error) && error.outcome === 'unknown' && error.kind !== 'aborted';

/** Statuses with which nothing is refused: it is too early or too late, or a proxy speaks for the API. */
const NO_REFUSAL: ReadonlySet<number> = new Set([403, 404, 408, 410, 425]);

/**
 * Whether the API refused a request for what it asks: nothing was done, and it is not about whose the
 * request is, how many there are, or whether there is such a thing.
 */
export const isRefused = (error: unknown): boolean => {
  if (!isProviderError(error) || error.outcome === 'unknown' || error.rateLimit) return false;
  const { status = 0 } = error.answer ?? {};
  if (error.kind === 'transient' && !error.quota && NO_REFUSAL.has(status)) return false;
  return status >= 400 && status < 500 && error.kind !== 'auth' && error.kind !== 'not-found';
};

/**
 * The same error, marked as possibly having taken effect.
 * @param doing what failed then, whose cause the error becomes; without it the error stays what it is.
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

/** Null in place of what the API says does not exist. */
export const nullIfGone = (error: unknown): null => {
  if (isNotFound(error)) return null;
  throw error;
};

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
