import type { Ownership } from '../../../domain/machine.ts';
import { OWNER_TAG, WITNESS_TAG } from '../port.ts';

/** Tags of this API are plain strings; ours are spelled `<prefix><value>`. */
const WITNESS_PREFIX = 'shepherd-idempotency-';
const OWNER_PREFIX = 'shepherd-owner-';

export const witnessTag = (witness: string): string => WITNESS_PREFIX + witness;
export const ownerTag = (instanceSetId: string): string => OWNER_PREFIX + instanceSetId;

/** Whose device it is; one with two owners is disputed, so not ours. */
export function ownershipOf(tags: readonly string[], instanceSetId: string): Ownership {
  const owners = tags.filter((tag) => tag.startsWith(OWNER_PREFIX));
  if (owners.length === 0) return 'untagged';
  return owners.every((tag) => tag === ownerTag(instanceSetId)) ? 'ours' : 'foreign';
}

const valueOf = (tags: readonly string[], prefix: string): string | null =>
  tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? null;

/** As the port shows them: ours under their port names, `key=value` split, the rest with ''. */
export function toPortTags(tags: readonly string[]): Record<string, string> {
  const witness = valueOf(tags, WITNESS_PREFIX);
  const owner = valueOf(tags, OWNER_PREFIX);
  const foreign = tags.filter((tag) => !OURS.some((prefix) => tag.startsWith(prefix)));
  return {
    ...Object.fromEntries(foreign.map(splitTag)),
    ...(witness === null ? {} : { [WITNESS_TAG]: witness }),
    ...(owner === null ? {} : { [OWNER_TAG]: owner }),
  };
}
const OURS = [WITNESS_PREFIX, OWNER_PREFIX];
function splitTag(tag: string): [string, string] {
  const at = tag.indexOf('=');
  return at < 1 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)];
}
