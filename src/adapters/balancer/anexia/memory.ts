import type { Observed, Ref, Spec } from '../../../domain/balancing/objects.ts';
import type { Clock } from '../../clock/port.ts';

/** Something that is to be made, or was: names are unique below one parent. */
export interface Place {
  readonly owner: string;
  readonly parentId: string | null;
  readonly spec: Spec;
}

export type Memory = ReturnType<typeof createMemory>;

export interface Made {
  readonly owner: string;
  readonly ref: Ref;
  readonly tagged: boolean;
}

/** Lists are believed to lag no longer. */
const LAG_MS = 10 * 60_000;
/** An observation tells for so long what is not there. */
const VIEW_MS = 2 * 60_000;
/** What was made by an unanswered call shows up within this. */
const SETTLE_MS = 30_000;

/**
 * What this process knows of its own creations, so that a list that lags behind, or a reply that was
 * lost, makes no twin. Nothing of it is needed after a restart: then everything is looked for.
 */
export function createMemory(clock: Pick<Clock, 'monotonic'>) {
  const views = new Map<string, { readonly atMs: number; readonly names: ReadonlySet<string> }>();
  const creations = new Map<string, Made & { readonly atMs: number }>();
  const losses = new Map<string, number>();
  const keyOf = ({ owner, parentId, spec }: Place) =>
    [owner, spec.kind, parentId ?? '', spec.name].join(' ');
  const ageMs = (atMs: number) => clock.monotonic() - atMs;

  function isUnsettled(place: Place): boolean {
    const lostMs = losses.get(keyOf(place));
    return lostMs !== undefined && ageMs(lostMs) < SETTLE_MS;
  }

  return {
    /** What was observed; from now on names that are not in it need not be looked for. */
    observed(owner: string, objects: readonly Observed[]): void {
      const names = objects.map(({ spec, parentId }) => keyOf({ owner, parentId, spec }));
      views.set(owner, { atMs: clock.monotonic(), names: new Set(names) });
      for (const [key, made] of creations) {
        if (ageMs(made.atMs) > LAG_MS) creations.delete(key);
      }
      for (const [key, lostMs] of losses) if (ageMs(lostMs) > LAG_MS) losses.delete(key);
    },
    /** Whether something of this name may be there. */
    mayBeThere(place: Place): boolean {
      const view = views.get(place.owner);
      if (!view || ageMs(view.atMs) > VIEW_MS || losses.has(keyOf(place))) return true;
      return view.names.has(keyOf(place));
    },
    /** What was made here under this name, and whether its tag is certain. */
    made: (place: Place): Made | undefined => creations.get(keyOf(place)),
    /** Made, and not tagged yet. */
    note(place: Place, ref: Ref): void {
      losses.delete(keyOf(place));
      const made = { owner: place.owner, ref, tagged: false, atMs: clock.monotonic() };
      creations.set(keyOf(place), made);
    },
    tagged(ref: Ref): void {
      for (const [key, made] of creations) {
        if (made.ref.id === ref.id) creations.set(key, { ...made, tagged: true });
      }
    },
    /** A creation went unanswered. */
    unanswered: (place: Place): void => void losses.set(keyOf(place), clock.monotonic()),
    /** A creation went unanswered so lately that it may still show up. */
    isUnsettled,
    /** What was made lately, and may be missing in lists. */
    fresh: (owner: string): readonly Made[] =>
      [...creations.values()].filter((made) => made.owner === owner && ageMs(made.atMs) <= LAG_MS),
    forget(ref: Ref): void {
      for (const [key, made] of creations) if (made.ref.id === ref.id) creations.delete(key);
    },
  };
}
