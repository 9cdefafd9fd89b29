import { codeOf, explain } from '../errors.ts';
import { facetsOf } from './provider-facets.ts';
import type { CallFailure } from './provider-holds.ts';

/** How creations end, as metrics name them. */
export const CREATION_OUTCOMES = [
  'created',
  'adopted',
  'race_lost',
  'rejected',
  'quota',
  'capacity',
  'rate_limited',
  'unavailable',
  'unknown',
  'aborted',
  'abandoned',
] as const;
export type CreationOutcome = (typeof CREATION_OUTCOMES)[number];

/** What a failed creation means for its intent and its slot. */
export interface CreationEnd {
  /**
   * `failed`: nothing came of it. `unresolved`: a device may exist. `open`: it was not tried to its
   * end; whoever comes next goes on.
   */
  readonly intent: 'failed' | 'unresolved' | 'open';
  /** The slot goes on the shelf. */
  readonly isSlotToBlame: boolean;
  readonly outcome: CreationOutcome;
}

/** How far a creation came before it failed. */
export interface CreationProgress {
  /** An earlier request under the same witness may have reached the provider. */
  readonly isResumed: boolean;
  /** A request was announced by this very creation, and noted. */
  readonly isAttempted: boolean;
}

/**
 * Judges the error of a creation. Only a definite refusal ends it once a request was made; after an
 * earlier request whose outcome is not known, only the proof that somebody else has the slot does.
 * The slot is to blame for a refusal of this very request alone: neither for our token, a limit, an
 * outage or an abort, nor for a lost race.
 */
export function endOfCreation(error: unknown, progress: CreationProgress): CreationEnd {
  const { outcome } = facetsOf(error);
  const code = codeOf(error);
  if (code === 'nothing-to-do') {
    // Refused by the BMDB before the request: an earlier one may have been made.
    const mayExist = progress.isResumed || progress.isAttempted;
    return end(mayExist ? 'unresolved' : 'failed', 'aborted');
  }
  if (outcome === 'unknown') return end('unresolved', 'unknown');
  if (code === 'race-lost') return end('failed', 'race_lost');
  if (code === 'aborted' || code === 'stopped') return end('open', 'aborted');
  const reason = reasonOf(error, code);
  if (progress.isResumed) return end('unresolved', reason);
  // A driver that is not sure of its own answer gets the benefit of the doubt.
  const isVague = progress.isAttempted && reason === 'unavailable' && code !== 'auth';
  return isVague ? end('unresolved', reason) : end('failed', reason, reason === 'rejected');
}

const end = (
  intent: CreationEnd['intent'],
  outcome: CreationOutcome,
  isSlotToBlame = false,
): CreationEnd => ({ intent, outcome, isSlotToBlame });

function reasonOf(error: unknown, code: string): CreationOutcome {
  const { quota, capacity, retryAtMs } = facetsOf(error);
  if (quota) return 'quota';
  if (capacity !== null) return 'capacity';
  if (retryAtMs !== null) return 'rate_limited';
  return code === 'auth' || code === 'transient' ? 'unavailable' : 'rejected';
}

/** @param clockMs the daemon's own clock, in which providers' retry times are meant. */
export function failureOfCall(error: unknown, clockMs: number): CallFailure {
  const { outcome, retryAtMs, quota, capacity } = facetsOf(error);
  return {
    code: codeOf(error),
    outcome,
    quota,
    capacity,
    cause: explain(error),
    retryInMs: retryAtMs === null ? null : retryAtMs - clockMs,
  };
}
