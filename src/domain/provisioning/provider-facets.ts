import { ProviderError, type ProviderErrorFacets } from '../errors.ts';

/** Everything that an error and its causes say of a provider. */
export interface FoundFacets {
  readonly outcome: 'not-done' | 'unknown';
  /** The latest of all retry times, epoch ms. */
  readonly retryAtMs: number | null;
  readonly quota: boolean;
  /** The widest scope named. */
  readonly capacity: NonNullable<ProviderErrorFacets['capacity']>['scope'] | null;
}

const DEPTH_MAX = 16;

/**
 * Looks through the whole chain of causes, since drivers and their libraries wrap errors. What is
 * no `ProviderError` at all is a mistake of the driver: the request may have taken effect.
 */
export function facetsOf(error: unknown): FoundFacets {
  const found = providerErrors(error);
  const retryTimes = found.flatMap(({ rateLimit }) => timeOf(rateLimit?.retryAt));
  const scopes = found.flatMap(({ capacity }) => capacity?.scope ?? []);
  return {
    outcome: mayBeDone(found) ? 'unknown' : 'not-done',
    retryAtMs: retryTimes.length > 0 ? Math.max(...retryTimes) : null,
    quota: found.some(({ quota }) => quota === true),
    capacity: (['all', 'group', 'plan'] as const).find((scope) => scopes.includes(scope)) ?? null,
  };
}

/** Whether anything says that the request may have been carried out. */
const mayBeDone = (found: readonly ProviderError[]): boolean =>
  found.length === 0 || found.some(({ outcome }) => outcome !== 'not-done');

/** A driver may have put anything there; what is no time says nothing. */
function timeOf(retryAt: unknown): number[] {
  const atMs = retryAt instanceof Date ? retryAt.getTime() : Number.NaN;
  return Number.isFinite(atMs) ? [atMs] : [];
}

function providerErrors(error: unknown): ProviderError[] {
  const found: ProviderError[] = [];
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (at instanceof ProviderError) found.push(at);
    at = at.cause;
  }
  return found;
}
