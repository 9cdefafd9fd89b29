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
