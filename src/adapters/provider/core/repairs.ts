import { ProviderError } from '../../../domain/errors.ts';

const UNREADABLE_MS = 20_000;
const LONGEST_MS = 3_600_000;
const DEPTH_MAX = 16;

/**
 * Puts in order when to ask again, in an error and its causes: a time that is none becomes 20 s from
 * now, and none is later than an hour from now.
 */
export function repairTimes(error: unknown, nowMs: number): void {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (at instanceof ProviderError && at.rateLimit) repair(at, at.rateLimit, nowMs);
    at = at.cause;
  }
}

function repair(error: ProviderError, { retryAt }: { retryAt: unknown }, nowMs: number): void {
  const atMs = retryAt instanceof Date ? retryAt.getTime() : Number.NaN;
  const soundMs = Number.isFinite(atMs) ? atMs : nowMs + UNREADABLE_MS;
  const limitedMs = Math.min(soundMs, nowMs + LONGEST_MS);
  if (limitedMs === atMs) return;
  Reflect.defineProperty(error, 'rateLimit', { value: { retryAt: new Date(limitedMs) } });
}
