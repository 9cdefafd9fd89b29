/** The guard's decision for the fleet or one provider. */
export interface GuardRow {
  /** `fleet`, or a provider. */
  readonly scope: string;
  /** Null: recovery is not frozen. */
  readonly frozen: {
    readonly atMs: number;
    readonly by: string;
    /** `silence` and `probes` end by themselves; `manual` at its time or by an operator. */
    readonly kind: FreezeKind;
    readonly reason: string;
    /** When an operator's freeze ends by itself; null: it does not. */
    readonly untilMs: number | null;
  } | null;
  /** While frozen: since when few enough machines are silent; null: too many are. */
  readonly calmSinceMs: number | null;
  /** An operator has seen the machines silent before then: they cause no further freeze. */
  readonly thawedAtMs: number | null;
  /** Fleet only: since when heartbeats have been received without a break; null: not now. */
  readonly ingestUpSinceMs: number | null;
}
export const FREEZE_KINDS = ['manual', 'silence', 'probes'] as const;
export type FreezeKind = (typeof FREEZE_KINDS)[number];
