import { ProviderError } from '../../../domain/errors.ts';
import type { CallFaultKind } from './fault-kinds.ts';
import type { Faults, Occasion, Strike } from './faults.ts';
import { retryAtOf } from '../../http/retry-time.ts';

export interface RefusalDeps {
  readonly nowMs: number;
  /** How far the provider's own clock is ahead. */
  readonly skewMs: number;
  /** What was asked, for the message. */
  readonly asked: string;
}

const httpDate = (timeMs: number): string => new Date(timeMs).toUTCString();

/** Answered with 429. The retry time is an HTTP date by the provider's clock, or none at all. */
export function tooManyRequests(
  retryAfter: string | undefined,
  { nowMs, skewMs, asked }: RefusalDeps,
): ProviderError {
  const headers = new Headers({ date: httpDate(nowMs + skewMs) });
  if (retryAfter !== undefined) headers.set('retry-after', retryAfter);
  const retryAt = retryAtOf(headers, nowMs);
  return new ProviderError('transient', `${asked}: 429 too many requests`, {
    rateLimit: { retryAt },
  });
}

/** As `tooManyRequests`, to come back after so many milliseconds. */
export const comeBackIn = (waitMs: number, deps: RefusalDeps): ProviderError =>
  tooManyRequests(httpDate(deps.nowMs + deps.skewMs + waitMs), deps);

/** None left; of what, the scope says. */
export const noCapacity = (scope: 'all' | 'group' | 'plan', asked: string): ProviderError =>
  new ProviderError('transient', `${asked}: no capacity (${scope})`, { capacity: { scope } });

/** As many machines as there may be. */
export const overQuota = (most: number, asked: string): ProviderError =>
  new ProviderError('transient', `${asked}: over the quota of ${most} devices`, { quota: true });

/** Faults of the door that end a call with an error; the others only take time. */
export type RefusingKind = Exclude<
  CallFaultKind,
  'slow' | 'held' | 'hangs' | 'hangs-after' | 'clock-skew'
>;

/** What a call ends with that such a fault struck. */
export function refusalOf(
  fault: RefusingKind,
  { rule, amount }: Pick<Strike, 'rule' | 'amount'>,
  deps: RefusalDeps,
): Error {
  const { asked, nowMs, skewMs } = deps;
  const error = (
    kind: 'transient' | 'auth' | 'conflict',
    why: string,
    options: ConstructorParameters<typeof ProviderError>[2] = {},
  ) => new ProviderError(kind, `${asked}: ${why}`, options);
  const unreadable = (why: string, cause: string) =>
    error('transient', why, { outcome: 'unknown', cause: new SyntaxError(cause) });
  switch (fault) {
    case 'call-fails':
    case 'fails-after':
      return rule.error ?? error('transient', 'failed as scripted');
    case 'reply-lost':
      return error('transient', 'the reply was lost', { outcome: 'unknown' });
    case 'html-body':
      return unreadable('answered with a page of HTML', 'Unexpected token < in JSON');
    case 'truncated-body':
      return unreadable('the answer breaks off', 'Unexpected end of JSON input');
    case 'unauthorized':
      return error('auth', '401, the token is not accepted');
    case 'forbidden':
      return error('auth', '403, the token does not allow this');
    case 'conflict':
      return error('conflict', '409, something else is under way');
    case 'server-error':
      return error('transient', '503 service unavailable', { outcome: 'unknown' });
    case 'foreign-error':
      return new TypeError(`${asked}: cannot read properties of undefined`);
    case 'rate-limit':
    case 'retry-time-far':
      return comeBackIn(amount, deps);
    case 'retry-time-past':
      return tooManyRequests(httpDate(nowMs + skewMs - amount), deps);
    case 'retry-time-missing':
      return tooManyRequests(undefined, deps);
    case 'retry-time-malformed':
      return tooManyRequests('soon', deps);
  }
}

/**
 * Counts from the last call that was let through, whichever instance made it.
 * @throws {ProviderError} `transient` with a retry time: too soon after the one before.
 */
export type Gap = (occasion: Occasion, refusal: RefusalDeps) => void;

/** The least time between two calls of a kind, as far as a fault demands one. */
export function createGap(
  fault: 'create-gap' | 'list-gap',
  { faults, nowMs }: { readonly faults: Faults; nowMs(): number },
): Gap {
  let lastAtMs = -Infinity;
  return (occasion, refusal) => {
    const gap = faults.look(occasion, fault);
    const waitMs = lastAtMs + (gap?.amount ?? 0) - nowMs();
    if (gap && waitMs > 0) {
      gap.use();
      throw comeBackIn(waitMs, refusal);
    }
    lastAtMs = nowMs();
  };
}
