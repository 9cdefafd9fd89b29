import { ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';
import { retryAtOf } from './retry-time.ts';

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

const KINDS: Readonly<Record<number, ProviderErrorKind>> = {
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
  const told = KINDS[status] ?? (status >= 500 ? 'transient' : 'permanent');
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
