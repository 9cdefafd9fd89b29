import { codeOf, explain } from '../errors.ts';
import type { HoldKind, Ownership } from '../machine.ts';
import { facetsOf, type CallFailure } from './provider-holds.ts';

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
interface CreationEnd {
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
interface CreationProgress {
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

export const IDLE_BEHAVIOURS = ['run', 'hold', 'drain'] as const;
/**
 * What operators want of a machine that has nothing to do, in one word. `run`: anything goes. `hold`:
 * it is left as it is. `drain`: nothing new is started on it. Made of the holds in the BMDB; its tag
 * is a copy, read only when a device is adopted.
 */
export type IdleBehaviour = (typeof IDLE_BEHAVIOURS)[number];

export function idleBehaviourOf(holds: Iterable<HoldKind>): IdleBehaviour {
  const kinds = new Set(holds);
  if (kinds.has('preserve') || kinds.has('no-recover')) return 'hold';
  return kinds.has('no-start') ? 'drain' : 'run';
}

/** As a device's tags say; one without the tag runs, and so does one whose tag says nonsense. */
export const taggedBehaviour = (tags: Tags): IdleBehaviour =>
  IDLE_BEHAVIOURS.find((each) => each === tags[IDLE_TAG]) ?? 'run';

const MEANT: Readonly<Record<IdleBehaviour, readonly HoldKind[]>> = {
  run: [],
  hold: ['no-recover', 'preserve'],
  drain: ['no-start'],
};

/** The holds that a machine is given whose device was tagged so. */
export const holdsMeantBy = (behaviour: IdleBehaviour): readonly HoldKind[] => MEANT[behaviour];

/**
 * Keys of the tags that we put on hardware. The mark of what is ours lives at the provider, so that
 * any daemon of the same set finds it.
 */
export const TAG_PREFIX = 'shepherd-';
/** The instance set that owns it. */
export const SET_ID_TAG = `${TAG_PREFIX}InstanceSetID`;
/** The creation's witness: the id of its intent. */
export const WITNESS_TAG = `${TAG_PREFIX}op`;
/** Plan that was asked for. */
export const PLAN_TAG = `${TAG_PREFIX}InstanceType`;
/** Copy of the operators' holds: `run`, `hold` or `drain`; read only at an adoption. */
export const IDLE_TAG = `${TAG_PREFIX}IdleBehavior`;
/** SHA-256 of the instance secret, 64 hex digits; never the secret, since many may read tags. */
export const SECRET_TAG = `${TAG_PREFIX}InstanceSecret`;
/** Where a machine keeps that secret: readable by root only, on its disk (ADR 0012). */
export const INSTANCE_SECRET_PATH = '/var/lib/shepherd/instance-secret';

export type Tags = Readonly<Record<string, string>>;

/** Several owners' marks on one device, as a driver shows it: then it is nobody's. */
export const DISPUTED = 'disputed';

/** Whose it is, by its tags. */
export function ownershipOf(tags: Tags, instanceSetId: string): Ownership {
  const owner = tags[SET_ID_TAG];
  if (owner === undefined) return 'untagged';
  return owner === instanceSetId ? 'ours' : 'foreign';
}

export const witnessOf = ({ tags }: { readonly tags: Tags }): string | null =>
  tags[WITNESS_TAG] ?? null;
