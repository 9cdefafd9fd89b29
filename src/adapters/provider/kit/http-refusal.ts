import { ProviderError, type ProviderErrorKind } from '../../../domain/errors.ts';
import { retryAtOf } from './retry-time.ts';

/** An HTTP answer that is not what was asked for. */
export interface HttpRefusal {
  /** Such as `cannot create a machine on slot 7`. */
  readonly doing: string;
  readonly status: number;
  readonly headers: { get(name: string): string | null | undefined };
  /** The request would have changed something. */
  readonly changing: boolean;
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
 * The port's error for an answer with a status that speaks for itself. After 5xx and 408 nobody
 * knows whether a changing request was carried out. An API that means something else by a status
 * needs a look at that first.
 */
export function httpRefusal(refusal: HttpRefusal): ProviderError {
  const { doing, status, headers, changing, nowMs } = refusal;
  const kind = KINDS[status] ?? (status >= 500 ? 'transient' : 'permanent');
  const isVague = status === 408 || (status >= 500 && status !== 501);
  return new ProviderError(kind, `${doing}: HTTP status ${status}`, {
    ...(changing && isVague && { outcome: 'unknown' as const }),
    ...((status === 429 || (status === 503 && headers.get('retry-after'))) && {
      rateLimit: { retryAt: retryAtOf(headers, nowMs) },
    }),
  });
}
