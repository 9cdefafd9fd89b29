import { codeOf, explain } from '../errors.ts';
import type { HoldKind, Ownership } from '../machine.ts';
import type { SettableHold } from '../verbs.ts';
import { facetsOf, type CallFailure } from './provider-holds.ts';

/** Outcomes of creations, by their names in metrics. */
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

/** The consequences of a failed creation for its intent and slot. */
interface CreationEnd {
  /**
   * `failed`: no device exists. `unresolved`: a device may exist. `open`: the attempt was not
   * completed, and another daemon continues it.
   */
  readonly intent: 'failed' | 'unresolved' | 'open';
  /** The slot is put under a penalty. */
  readonly isSlotToBlame: boolean;
  readonly outcome: CreationOutcome;
}

/** The progress of a creation at its failure. */
interface CreationProgress {
  /** An earlier request with the same creation key may have reached the provider. */
  readonly isResumed: boolean;
  /** This creation announced a request and recorded it. */
  readonly isAttempted: boolean;
}

/**
 * Judges the error of a creation. Once a request was made, only a definite refusal ends the
 * creation. After an earlier request with an unknown outcome, only proof of another owner of the
 * slot ends it. The slot is penalised only for a refusal of this request: not for our token, a
 * limit, an outage, an abort, or a lost race.
 */
export function endOfCreation(error: unknown, progress: CreationProgress): CreationEnd {
  const { outcome } = facetsOf(error);
  const code = codeOf(error);
  if (code === 'nothing-to-do') {
    // The BMDB refused before the request, but an earlier request may exist.
    const mayExist = progress.isResumed || progress.isAttempted;
    return end(mayExist ? 'unresolved' : 'failed', 'aborted');
  }
  if (outcome === 'unknown') return end('unresolved', 'unknown');
  if (code === 'race-lost') return end('failed', 'race_lost');
  if (code === 'aborted' || code === 'stopped') return end('open', 'aborted');
  const reason = reasonOf(error, code);
  if (progress.isResumed) return end('unresolved', reason);
  // If a driver is unsure of its own answer, the device may exist.
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

/** @param clockMs the daemon's own clock, on which providers' retry times are based. */
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
 * Operators' wishes for an idle machine. `run`: no limits. `hold`: leave it as it is. `drain`:
 * start nothing new. Derived from the holds in the BMDB. The tag is a copy, read only at an
 * adoption.
 */
export type IdleBehaviour = (typeof IDLE_BEHAVIOURS)[number];

export function idleBehaviourOf(holds: Iterable<HoldKind>): IdleBehaviour {
  const kinds = new Set(holds);
  if (kinds.has('preserve') || kinds.has('no-recover')) return 'hold';
  return kinds.has('no-start') ? 'drain' : 'run';
}

/** The behaviour in a device's tags; `run` without the tag, or with an invalid value. */
export const taggedBehaviour = (tags: Tags): IdleBehaviour =>
  IDLE_BEHAVIOURS.find((each) => each === tags[IDLE_TAG]) ?? 'run';

const MEANT: Readonly<Record<IdleBehaviour, readonly SettableHold[]>> = {
  run: [],
  hold: ['no-recover', 'preserve'],
  drain: ['no-start'],
};

/** The holds that an adopted device gets for its tag. */
export const holdsMeantBy = (behaviour: IdleBehaviour): readonly SettableHold[] => MEANT[behaviour];

/**
 * Prefix of our tags on hardware. The ownership mark is stored at the provider, so that every
 * daemon of the same set finds it.
 */
export const TAG_PREFIX = 'shepherd-';
/** The owning instance set. */
export const SET_ID_TAG = `${TAG_PREFIX}InstanceSetID`;
/** The creation key: the id of the creation's intent. */
export const WITNESS_TAG = `${TAG_PREFIX}op`;
/** The requested plan. */
export const PLAN_TAG = `${TAG_PREFIX}InstanceType`;
/** Copy of the operators' holds: `run`, `hold` or `drain`; read only at an adoption. */
export const IDLE_TAG = `${TAG_PREFIX}IdleBehavior`;
/** SHA-256 of the instance secret, 64 hex digits. Never the secret, because many can read tags. */
export const SECRET_TAG = `${TAG_PREFIX}InstanceSecret`;
/** Where a machine stores that secret: on its disk, readable by root only (ADR 0012). */
export const INSTANCE_SECRET_PATH = '/var/lib/shepherd/instance-secret';

export type Tags = Readonly<Record<string, string>>;

/** A driver shows this for a device with marks of several owners: nobody owns it. */
export const DISPUTED = 'disputed';

/** The owner of a device, by its tags. */
export function ownershipOf(tags: Tags, instanceSetId: string): Ownership {
  const owner = tags[SET_ID_TAG];
  if (owner === undefined) return 'untagged';
  return owner === instanceSetId ? 'ours' : 'foreign';
}

export const witnessOf = ({ tags }: { readonly tags: Tags }): string | null =>
  tags[WITNESS_TAG] ?? null;
