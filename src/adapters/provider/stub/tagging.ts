import { TAG_PREFIX, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Faults, Occasion } from './faults.ts';

/** Tags as an API stores them that has its own idea of texts. */
export function spoiltTags(tags: Tags, occasion: Occasion, faults: Faults): Tags {
  const cut = faults.strike(occasion, 'tags-truncated');
  const lower = faults.strike(occasion, 'tags-lower-cased');
  const spoil = (text: string) => (lower ? text.toLowerCase() : text);
  return Object.fromEntries(
    Object.entries(tags).map(([key, value]) => [
      spoil(key),
      spoil(cut ? value.slice(0, cut.amount) : value),
    ]),
  );
}

/** All keys of ours replaced, every other one as it was, whatever is wanted. */
export const withOurs = (before: Tags, wanted: Tags): Tags => ({
  ...only(before, (key) => !key.startsWith(TAG_PREFIX)),
  ...only(wanted, (key) => key.startsWith(TAG_PREFIX)),
});

const only = (tags: Tags, isWanted: (key: string) => boolean): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => isWanted(key)));
