import type { Ownership } from '../../../domain/machine.ts';
import {
  DISPUTED,
  ownershipOf as ownershipByTags,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
  WITNESS_TAG,
} from '../../../domain/provisioning/provider-tags.ts';

/**
 * Tags of this API are plain strings. The two that matter most have spellings of their own,
 * `<prefix><value>`; the others are `<key>=<value>`.
 */
const WITNESS_PREFIX = 'shepherd-idempotency-';
const OWNER_PREFIX = 'shepherd-owner-';
const OURS = [WITNESS_PREFIX, OWNER_PREFIX];

export const witnessTag = (witness: string): string => WITNESS_PREFIX + witness;
export const ownerTag = (instanceSetId: string): string => OWNER_PREFIX + instanceSetId;

/** As the port shows them: ours under their port names, `key=value` split, the rest with ''. */
export function toPortTags(tags: readonly string[]): Record<string, string> {
  const [witness] = valuesOf(tags, WITNESS_PREFIX);
  const owners = new Set(valuesOf(tags, OWNER_PREFIX));
  const [owner] = owners;
  const plain = tags.filter((tag) => !OURS.some((prefix) => tag.startsWith(prefix)));
  return {
    ...Object.fromEntries(plain.map(splitTag).filter(([key]) => !SPELLED_APART.has(key))),
    ...(witness === undefined ? {} : { [WITNESS_TAG]: witness }),
    ...(owner === undefined ? {} : { [SET_ID_TAG]: owners.size > 1 ? DISPUTED : owner }),
  };
}
/** Their plain spelling means nothing here: a mark has one form, or it could be given twice. */
const SPELLED_APART: ReadonlySet<string> = new Set([WITNESS_TAG, SET_ID_TAG]);

/** As the API takes them. */
export const toApiTags = (tags: Tags): string[] =>
  Object.entries(tags).map(([key, value]) => {
    if (key === WITNESS_TAG) return witnessTag(value);
    if (key === SET_ID_TAG) return ownerTag(value);
    return value === '' ? key : `${key}=${value}`;
  });

/** Tags of a device with those of ours replaced by `tags`; every other one stays as it is. */
export const withOurTags = (current: readonly string[], tags: Tags): string[] => [
  ...current.filter((tag) => !tag.startsWith(TAG_PREFIX)),
  ...toApiTags(Object.fromEntries(Object.entries(tags).filter(([key]) => isOurKey(key)))),
];
const isOurKey = (key: string): boolean => key.startsWith(TAG_PREFIX);

const valuesOf = (tags: readonly string[], prefix: string): string[] =>
  tags.filter((tag) => tag.startsWith(prefix)).map((tag) => tag.slice(prefix.length));

function splitTag(tag: string): [string, string] {
  const at = tag.indexOf('=');
  return at < 1 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)];
}

/** Whose device it is; one with two owners is disputed, so not ours. */
export const ownershipOf = (tags: readonly string[], instanceSetId: string): Ownership =>
  ownershipByTags(toPortTags(tags), instanceSetId);
