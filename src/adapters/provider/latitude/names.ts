import { createHash } from 'node:crypto';
import type { Slots } from './settings.ts';

/** A place for a machine, as the configuration allows it. */
export interface Place {
  /** `<plan>/<SITE>/<k>`, k from 1: what names the slot. */
  readonly slot: string;
  /** What the machine on it is called; always the same. */
  readonly hostname: string;
  readonly plan: string;
  readonly site: string;
}

const NAME_CHARACTERS = 8;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** The places of a configuration, in its order. */
export const placesOf = (slots: Slots, namePrefix: string): Place[] =>
  slots.flatMap(({ plan, site, count }) =>
    Array.from({ length: count }, (_, at) => {
      const slot = `${plan}/${site}/${at + 1}`;
      return { slot, plan, site, hostname: hostnameOf(slot, namePrefix) };
    }),
  );

/**
 * Host name of the machine on a slot: the prefix, the site, and 40 bits of the slot's hash, so that the
 * name says nothing of the plan and fits into the 32 characters that the vendor takes.
 */
export function hostnameOf(slot: string, namePrefix: string): string {
  const [, site = ''] = slot.split('/');
  const hash = createHash('sha256').update(slot, 'utf8').digest();
  return `${namePrefix}${site.toLowerCase()}-${base32(hash).slice(0, NAME_CHARACTERS)}`;
}

/** RFC 4648, in lower case and without padding. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >>> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}

/** The vendor may show a name in another case than it was given. */
export const sameName = (one: string | undefined, other: string): boolean =>
  one?.toLowerCase() === other.toLowerCase();
