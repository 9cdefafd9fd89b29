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
  if (wish.verb === 'deprovision') return givingBackText(providers, givingBack);
  if (wish.verb === 'release' && wish.forgetHostKey) return FORGETTING;
  return MEANINGS[wish.verb].warning ?? null;
}

const FORGETTING = 'its pinned SSH host key is forgotten: whoever answers there next is believed';

/** What becomes of machines that are given back, provider by provider where they differ. */
export function givingBackText(
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
): string {
  const names = [...new Set(providers)].toSorted();
  const texts = [...new Set(names.map(givingBack))];
  if (texts.length <= 1) return texts[0] ?? DELETED;
  return names.map((name) => `at ${name} ${givingBack(name)}`).join('; ');
}

/** What most providers do. */
export const DELETED = 'the device is deleted, with everything on its disks';
