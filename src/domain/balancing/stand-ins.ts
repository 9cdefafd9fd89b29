import type { Match } from './matches.ts';
import { keyOf } from './objects.ts';
import type { Action } from './plan.ts';

/** Where something is reached; two objects of a kind cannot be at the same place. */
export const placeOf = ({
  address,
  number,
}: {
  readonly address: string;
  readonly number: number;
}) => `${address} ${number}`;

/**
 * Leavers but for those that clients still need: a bind stays where another is to be that cannot be
 * made yet, with what it hangs on, and so do other binds of a frontend until all that it is to have are ready.
 */
export function withoutStandIns(
  leavers: readonly Action[],
  matches: readonly Match[],
  places: ReadonlyMap<string, Match>,
): readonly Action[] {
  const late = new Set<string>();
  for (const { desired, object, parent } of matches) {
    if (desired.spec.kind === 'bind' && object?.phase !== 'ready' && parent) late.add(parent.id);
  }
  const stays = new Set<string>();
  const objects = leavers.flatMap((action) => (action.act === 'destroy' ? [action.object] : []));
  for (const { ref, spec, parentId } of objects) {
    if (spec.kind !== 'bind' || (!places.has(placeOf(spec)) && !late.has(parentId ?? ''))) continue;
    stays.add(keyOf('bind', ref.id)).add(keyOf('frontend', parentId ?? ''));
  }
  if (stays.size === 0) return leavers;
  for (const { ref, parentId } of objects) {
    const isHeld = ref.kind === 'frontend' && stays.has(keyOf('frontend', ref.id));
    if (isHeld) stays.add(keyOf('backend', parentId ?? ''));
  }
  return leavers.filter((action) => {
    if (action.act !== 'destroy') return true;
    const { ref, parentId } = action.object;
    const key = ref.kind === 'server' ? keyOf('backend', parentId ?? '') : keyOf(ref.kind, ref.id);
    return !stays.has(key);
  });
}
