import type { Ownership } from '../machine.ts';

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
