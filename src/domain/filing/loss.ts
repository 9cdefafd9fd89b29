import { MEANINGS, type Wish } from './verbs.ts';

/**
 * What is lost when it is done, for people; null: nothing that could not be had back.
 * @param providers of the machines that are meant.
 * @param givingBack what becomes of a machine of this provider that is given back.
 */
export function lossOf(
  wish: Wish,
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
): string | null {
  if (wish.verb === 'deprovision') {
    return givingBackText(providers, givingBack, wish.returnToPool === true);
  }
  if (wish.verb === 'release' && wish.forgetHostKey) return FORGETTING;
  return MEANINGS[wish.verb].warning ?? null;
}

const FORGETTING = 'its pinned SSH host key is forgotten: whoever answers there next is believed';

/** What becomes of machines that are given back, provider by provider where they differ, and of their slots. */
export function givingBackText(
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
  returnToPool: boolean,
): string {
  const names = [...new Set(providers)].toSorted();
  const texts = [...new Set(names.map(givingBack))];
  const machine =
    texts.length <= 1
      ? (texts[0] ?? DELETED)
      : names.map((name) => `at ${name} ${givingBack(name)}`).join('; ');
  return `${machine}; ${returnToPool ? RETURNED : KEPT_FREE}`;
}

const RETURNED = 'Shepherd may use its slot again at once';
const KEPT_FREE =
  'Shepherd leaves its slot alone until somebody does: machine unhold --kind no-allocate';

/** What most providers do. */
export const DELETED = 'the device is deleted, with everything on its disks';
