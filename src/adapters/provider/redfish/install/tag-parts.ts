import { TAG_PREFIX, type Tags } from '../../../../domain/provisioning/provider-tags.ts';

const isOurTag = ([key]: readonly [string, string]): boolean => key.startsWith(TAG_PREFIX);

/** Tags that Shepherd writes. */
export const oursOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter(isOurTag));

/** Tags of anybody else. */
export const foreignOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter((tag) => !isOurTag(tag)));
