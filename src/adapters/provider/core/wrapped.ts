import { isProviderError, type ProviderError } from '../../../domain/errors.ts';

const DEPTH_MAX = 16;

/** The outermost error of the port among an error and its causes. */
export function wrappedIn(error: unknown): ProviderError | null {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (isProviderError(at)) return at;
    at = at.cause;
  }
  return null;
}
