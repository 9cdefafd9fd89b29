import {
  isSameSpec,
  keyOf,
  OBJECT_KINDS,
  PARENT_KIND,
  type Desired,
  type Observed,
  type Ref,
} from './objects.ts';
import type { PlanInput } from './plan.ts';

/** A desired object, and what of it is there. */
export interface Match {
  readonly desired: Desired;
  /** Null: there is none. */
  readonly object: Observed | null;
  /** What of the object is not as desired; null: nothing. */
  readonly why: string | null;
  /** False: its parent is not there yet. */
  readonly isParentKnown: boolean;
  readonly parent: Ref | null;
  /** Its parent is there and ready, so that it may be made. */
  readonly isDue: boolean;
}

/** Finds each desired object's own among those that are there, parents before children. */
export function matchAll({ desired, observed, capabilities, troubles, nowMs }: PlanInput): Match[] {
  const byName = Map.groupBy(observed, ({ ref, spec }) => keyOf(ref.kind, spec.name));
  const matches: Match[] = [];
  const parents = new Map<string, Match>();
  for (const kind of OBJECT_KINDS) {
    const parentKind = PARENT_KIND[kind];
    for (const each of desired) {
      if (each.spec.kind !== kind) continue;
      const over = (parentKind && parents.get(keyOf(parentKind, each.port))?.object) ?? null;
      const parent = over?.ref ?? null;
      const { object, why } = bestOf(byName.get(keyOf(kind, each.spec.name)) ?? [], each, parent);
      const isGoing =
        over?.phase === 'failed' &&
        remedyOf(troubles.get(keyOf(over.ref.kind, over.spec.name)), capabilities, nowMs).kind ===
          'replace';
      const isReady = over?.phase === 'ready' && !isGoing && over.tagged;
      const match: Match = {
        desired: each,
        object,
        why,
        parent,
        isParentKnown: parentKind === null || parent !== null,
        isDue: parentKind === null || isReady,
      };
      matches.push(match);
      if (kind === 'backend' || kind === 'frontend') parents.set(keyOf(kind, each.port), match);
    }
  }
  return matches;
}

const PHASE_RANK = { ready: 0, progressing: 1, failed: 2 } as const;

type Best = Pick<Match, 'object' | 'why'>;

/** Of those with the desired name: one that is right in all, then the readiest, then the lowest id. */
const bestOf = (found: readonly Observed[], { spec }: Desired, parent: Ref | null): Best =>
  found
    .map((object) => ({ object, why: differenceOf(object, spec, parent) }))
    .reduce<Best>((best, each) => (isBetter(each, best) ? each : best), {
      object: null,
      why: null,
    });

function isBetter({ object: one, why }: Best, { object: other, why: whyOther }: Best): boolean {
  if (one === null || other === null) return other === null;
  if ((why === null) !== (whyOther === null)) return why === null;
  const ranks = PHASE_RANK[one.phase] - PHASE_RANK[other.phase];
  return ranks === 0 ? one.ref.id < other.ref.id : ranks < 0;
}

function differenceOf(object: Observed, spec: Desired['spec'], parent: Ref | null): string | null {
  if (!isSameSpec(object.spec, spec)) return 'it is not as it should be';
  if (object.differs !== undefined) return object.differs;
  const isElsewhere = parent !== null && object.parentId !== null && object.parentId !== parent.id;
  return isElsewhere ? `it belongs to another ${parent.kind}` : null;
}

/** What was tried with an object that its balancer calls failed, or that never gets ready. */
export interface Trouble {
  /** How often it was asked for again since it was made. */
  readonly recoveries: number;
  /** How often it was made anew. */
  readonly replacements: number;
  /** When something was tried last, epoch ms. */
  readonly triedAtMs: number;
  /** It could not be destroyed by itself: something hangs on it. */
  readonly isBlocked: boolean;
  /** It was waited for long enough: until then nothing else waits for it, epoch ms; 0: that was not so. */
  readonly stuckUntilMs: number;
}

export const NO_TROUBLE: Trouble = {
  recoveries: 0,
  replacements: 0,
  triedAtMs: 0,
  isBlocked: false,
  stuckUntilMs: 0,
};

/** What to do about an object that failed. */
export type Remedy =
  | { readonly kind: 'update' }
  | { readonly kind: 'replace'; readonly withChildren: boolean }
  | { readonly kind: 'wait'; readonly untilMs: number; readonly isShelved: boolean };

/** Pauses after the first, second and third time that an object was asked for again. */
export const RECOVERY_PAUSES_MS = [30_000, 120_000, 600_000] as const;
const RECOVERIES_MAX = RECOVERY_PAUSES_MS.length;
/** An object that fails again after it was made anew rests for so long before all begins anew. */
export const SHELF_MS = 3_600_000;
/** An object that was ready for so long after its last trouble has none any more. */
export const HEALED_MS = 30 * 60_000;

/** Pure and total. Where objects cannot be updated they are made anew at once. */
export function remedyOf(
  trouble: Trouble = NO_TROUBLE,
  { update }: { readonly update: boolean },
  nowMs: number,
): Remedy {
  const { recoveries, replacements, triedAtMs, isBlocked } = trouble;
  if (replacements > 0) {
    const untilMs = triedAtMs + SHELF_MS;
    if (nowMs < untilMs) return { kind: 'wait', untilMs, isShelved: true };
  } else if (recoveries > 0) {
    const untilMs = triedAtMs + RECOVERY_PAUSES_MS[Math.min(recoveries, RECOVERIES_MAX) - 1]!;
    if (nowMs < untilMs) return { kind: 'wait', untilMs, isShelved: false };
  }
  return update && recoveries < RECOVERIES_MAX
    ? { kind: 'update' }
    : { kind: 'replace', withChildren: isBlocked };
}

/** After an object was asked for again. */
export const recovered = (trouble: Trouble = NO_TROUBLE, nowMs: number): Trouble => ({
  ...trouble,
  recoveries: trouble.recoveries + 1,
  triedAtMs: nowMs,
});

/** After an object was destroyed, to be made anew. */
export const replaced = (trouble: Trouble = NO_TROUBLE, nowMs: number): Trouble => ({
  ...NO_TROUBLE,
  replacements: trouble.replacements + 1,
  triedAtMs: nowMs,
});
