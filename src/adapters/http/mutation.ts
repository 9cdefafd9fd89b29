import type { Call } from './call.ts';
import { asAmbiguous, type ApiError, isApiError } from './errors.ts';

/** A change of which one can see whether it happened. */
export interface Mutation<T> {
  /** Name of the route, for metrics. */
  readonly endpoint: string;
  send(): Promise<T>;
  /** Looks whether the change is there; null when it is not (yet). */
  look(): Promise<{ readonly value: T } | null>;
  /** A refusal after which it may be there all the same. */
  readonly looksAfter?: (refusal: ApiError) => boolean;
  /** Repetitions after an unknown outcome; without limit but the operation's budget if absent. */
  readonly repeatsMax?: number;
}

/**
 * Sends a change that may be repeated: after an attempt whose outcome is not known it looks, and
 * sends again what it does not see.
 * @throws {ApiError} `ambiguous` if any attempt may have worked. OutcomeUnknown: not seen after
 * the last repetition.
 */
export async function mutate<T>(call: Call, mutation: Mutation<T>): Promise<T> {
  const { repeatsMax = Infinity, looksAfter = () => false } = mutation;
  let ambiguous = false;
  try {
    for (let repeats = 0; ; repeats++) {
      const outcome = await attempt(mutation);
      if ('value' in outcome) return outcome.value;
      const { error } = outcome;
      ambiguous ||= error.ambiguous;
      if (error.ambiguous) await call.backOff();
      const seen = ambiguous || looksAfter(error) ? await mutation.look() : null;
      if (seen) return seen.value;
      if (!error.ambiguous) throw error;
      if (repeats >= repeatsMax) throw unsettled(call, error);
      call.repeats(mutation.endpoint);
    }
  } catch (error) {
    if (!ambiguous) throw error;
    if (isApiError(error)) throw asAmbiguous(error);
    throw call.error('Cancelled', 'not sent again', { ambiguous, cause: error });
  }
}

/** The error when nobody can tell whether a change happened. */
export const unsettled = (call: Call, cause: ApiError): ApiError =>
  call.error('OutcomeUnknown', 'it may have been accepted', { ambiguous: true, cause });

async function attempt<T>({ send }: Mutation<T>): Promise<{ value: T } | { error: ApiError }> {
  try {
    return { value: await send() };
  } catch (error) {
    if (!isApiError(error) || error.kind === 'Cancelled') throw error;
    return { error };
  }
}
