import type { Observed, Ref, Spec } from '../../../domain/balancing/objects.ts';
import type { Clock } from '../../clock/port.ts';

/** Place of an object; names are unique below one parent. */
export interface ObjectPlace {
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

/** Maximum lag of lists. */
const LAG_MS = 10 * 60_000;
/** How long an observation proves that a name is unused. */
const VIEW_MS = 2 * 60_000;
/** An object from an unanswered call appears within this time. */
const SETTLE_MS = 30_000;

/**
 * This process's own creations, so that a lagging list or a lost reply causes no duplicate. Not
 * needed after a restart: then everything is searched for.
 */
export function createMemory(clock: Pick<Clock, 'monotonic'>) {
  const views = new Map<string, { readonly atMs: number; readonly names: ReadonlySet<string> }>();
  const creations = new Map<string, Made & { readonly atMs: number }>();
  const losses = new Map<string, number>();
  const keyOf = ({ owner, parentId, spec }: ObjectPlace) =>
    [owner, spec.kind, parentId ?? '', spec.name].join(' ');
  const ageMs = (atMs: number) => clock.monotonic() - atMs;

  function isUnsettled(place: ObjectPlace): boolean {
    const lostMs = losses.get(keyOf(place));
    return lostMs !== undefined && ageMs(lostMs) < SETTLE_MS;
  }

  return {
    /** Records an observation; names missing in it need not be searched for. */
    observed(owner: string, objects: readonly Observed[]): void {
      const names = objects.map(({ spec, parentId }) => keyOf({ owner, parentId, spec }));
      views.set(owner, { atMs: clock.monotonic(), names: new Set(names) });
      for (const [key, made] of creations) {
        if (ageMs(made.atMs) > LAG_MS) creations.delete(key);
      }
      for (const [key, lostMs] of losses) if (ageMs(lostMs) > LAG_MS) losses.delete(key);
    },
    /** Whether the name may be in use. */
    mayBeThere(place: ObjectPlace): boolean {
      const view = views.get(place.owner);
      if (!view || ageMs(view.atMs) > VIEW_MS || losses.has(keyOf(place))) return true;
      return view.names.has(keyOf(place));
    },
    /** The object created here under this name, and whether it is certainly tagged. */
    made: (place: ObjectPlace): Made | undefined => creations.get(keyOf(place)),
    /** Created, and not tagged yet. */
    note(place: ObjectPlace, ref: Ref): void {
      losses.delete(keyOf(place));
      const made = { owner: place.owner, ref, tagged: false, atMs: clock.monotonic() };
      creations.set(keyOf(place), made);
    },
    tagged(ref: Ref): void {
      for (const [key, made] of creations) {
        if (made.ref.id === ref.id) creations.set(key, { ...made, tagged: true });
      }
    },
    /** A creation was not answered. */
    unanswered: (place: ObjectPlace): void => void losses.set(keyOf(place), clock.monotonic()),
    /** A creation was not answered, so recently that its object may still appear. */
    isUnsettled,
    /** Recently created objects, which lists may lack. */
    fresh: (owner: string): readonly Made[] =>
      [...creations.values()].filter((made) => made.owner === owner && ageMs(made.atMs) <= LAG_MS),
    forget(ref: Ref): void {
      for (const [key, made] of creations) if (made.ref.id === ref.id) creations.delete(key);
    },
  };
}
