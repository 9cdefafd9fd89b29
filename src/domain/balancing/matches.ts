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

/** A desired object and the existing object that matches it. */
export interface Match {
  readonly desired: Desired;
  /** The existing object; null: none exists. */
  readonly object: Observed | null;
  /** What differs from the desired object; null: nothing. */
  readonly why: string | null;
  /** False: its parent does not exist yet. */
  readonly isParentKnown: boolean;
  readonly parent: Ref | null;
  /** Its parent exists and is ready, so that the object may be created. */
  readonly isDue: boolean;
}

/** Matches each desired object with an existing object, parents before children. */
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

/** Among objects of the desired name: an exact match, then the readiest, then the lowest id. */
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
  if (!isSameSpec(object.spec, spec)) return 'it differs from the desired state';
  if (object.differs !== undefined) return object.differs;
  const isElsewhere = parent !== null && object.parentId !== null && object.parentId !== parent.id;
  return isElsewhere ? `it belongs to another ${parent.kind}` : null;
}

/** Attempts to repair an object that its balancer calls failed, or that never becomes ready. */
export interface Trouble {
  /** How often the object was submitted again since its creation. */
  readonly recoveries: number;
  /** How often the object was created anew. */
  readonly replacements: number;
  /** Time of the last attempt, epoch ms. */
  readonly triedAtMs: number;
  /** The object could not be destroyed alone, because other objects depend on it. */
  readonly isBlocked: boolean;
  /** Its wait timed out. Until then nothing waits for it, epoch ms; 0: no timeout. */
  readonly stuckUntilMs: number;
}

export const NO_TROUBLE: Trouble = {
  recoveries: 0,
  replacements: 0,
  triedAtMs: 0,
  isBlocked: false,
  stuckUntilMs: 0,
};

/** What to do about a failed object. */
export type Remedy =
  | { readonly kind: 'update' }
  | { readonly kind: 'replace'; readonly withChildren: boolean }
  | { readonly kind: 'wait'; readonly untilMs: number; readonly isCoolingDown: boolean };

/** Pauses after the first, second and third repeated submission of an object. */
export const RECOVERY_PAUSES_MS = [30_000, 120_000, 600_000] as const;
const RECOVERIES_MAX = RECOVERY_PAUSES_MS.length;
/** An object that fails again after its recreation rests this long before new attempts. */
export const SHELF_MS = 3_600_000;
/** An object that was ready for this long after its last failure counts as healthy. */
export const HEALED_MS = 30 * 60_000;

/** Pure and total. Where a balancer cannot update objects, recreates a failed one at once. */
export function remedyOf(
  trouble: Trouble = NO_TROUBLE,
  { update }: { readonly update: boolean },
  nowMs: number,
): Remedy {
  const { recoveries, replacements, triedAtMs, isBlocked } = trouble;
  if (replacements > 0) {
    const untilMs = triedAtMs + SHELF_MS;
    if (nowMs < untilMs) return { kind: 'wait', untilMs, isCoolingDown: true };
  } else if (recoveries > 0) {
    const untilMs = triedAtMs + RECOVERY_PAUSES_MS[Math.min(recoveries, RECOVERIES_MAX) - 1]!;
    if (nowMs < untilMs) return { kind: 'wait', untilMs, isCoolingDown: false };
  }
  return update && recoveries < RECOVERIES_MAX
    ? { kind: 'update' }
    : { kind: 'replace', withChildren: isBlocked };
}

/** The trouble of an object after it was submitted again. */
export const recovered = (trouble: Trouble = NO_TROUBLE, nowMs: number): Trouble => ({
  ...trouble,
  recoveries: trouble.recoveries + 1,
  triedAtMs: nowMs,
});

/** The trouble of an object after it was destroyed to be created anew. */
export const replaced = (trouble: Trouble = NO_TROUBLE, nowMs: number): Trouble => ({
  ...NO_TROUBLE,
  replacements: trouble.replacements + 1,
  triedAtMs: nowMs,
});
