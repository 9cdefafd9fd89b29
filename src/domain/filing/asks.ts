import { NotFound, UsageError } from '../errors.ts';
import { printable } from '../../lib/texts.ts';
import { requireProvider, type NamedFleet } from './named-fleet.ts';
import { select, type Selected, type Selector, type Wording } from './selection.ts';
import type { RequestedThing } from './things.ts';
import { at, MEANINGS, type Wish } from './verbs.ts';

/** What is asked of which machines, whoever asks, and how. */

/** Most characters of a key. */
const KEY_MAX = 200;

/**
 * The machines that a wish is about.
 * @throws {UsageError} what is meant is not clear. @throws {NotFound} a name means nothing.
 */
export function machinesMeant(
  fleet: NamedFleet,
  wish: Wish,
  { selector, words }: { readonly selector: Selector; readonly words: Wording },
): Selected[] {
  const { isOfSlot } = MEANINGS[wish.verb];
  const selected = select(fleet, selector, { needsMachine: isOfSlot !== true, words });
  if (isOfSlot) requireSense(wish, selected, fleet);
  return selected;
}

/**
 * Free slots are not recorded. So one that nothing is known of is believed, as long as its provider
 * is a provider; but only to forbid that a machine is made there, which is all that makes sense.
 */
function requireSense(wish: Wish, selected: readonly Selected[], fleet: NamedFleet): void {
  for (const { provider } of selected) requireProvider(fleet, provider);
  const empty = selected.find(({ entry }) => entry === null || entry.rows.length === 0);
  if (empty === undefined || wish.verb !== 'hold' || wish.kind === 'no-allocate') return;
  throw new NotFound(
    `no machine is on slot ${empty.slot}; without one, only a hold no-allocate makes sense`,
  );
}

/** One thing that is asked of one machine, under a key of its own. */
export interface Asked {
  readonly key: string;
  readonly selected: Selected;
  readonly what: RequestedThing;
}

export interface KeyChoice {
  readonly key: string;
  /** Whether it is one key for several machines. */
  readonly several: boolean;
  /** How those who ask write it. */
  readonly word: string;
}

/**
 * What is asked of each machine. One that is named alone is asked under the key itself, each of
 * several under `<key>/<slot>`, so that asking again asks the same of the same.
 * @throws {UsageError} a key would be too long.
 */
export const askedOf = (
  wish: Wish,
  selected: readonly Selected[],
  { key, several, word }: KeyChoice,
): Asked[] =>
  selected.map((each): Asked => {
    const { slot, provider, slotId, machineId } = each;
    const own = several ? `${key}/${slot}` : key;
    if (own.length <= KEY_MAX) {
      return { key: own, selected: each, what: at(wish, { provider, slotId, machineId }) };
    }
    throw new UsageError(
      `"${printable(own)}" has more than ${KEY_MAX} characters; give a shorter ${word}`,
    );
  });
