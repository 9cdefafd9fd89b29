import type { GuardRow } from '../../domain/machine.ts';
import type { GuardCounts } from '../../domain/recovery/guard.ts';

/** The fleet guard's rows. Which limits hold is the implementation's configuration. */
export interface GuardBook {
  /**
   * A look at the whole fleet, by whoever's turn it is: notes that heartbeats are being taken in
   * here (when they are), counts who is silent, and freezes or thaws. One transaction; when another
   * daemon looked less than `GuardPolicy.assessMs` ago it only reads what that one found.
   */
  assess(look: { readonly ingestUp: boolean }): Promise<GuardAssessment>;
}

export interface GuardAssessment {
  readonly rows: readonly GuardRow[];
  /** Of the fleet, and of each provider with machines. */
  readonly counts: readonly GuardCounts[];
  /** Frozen or thawed by this very look. */
  readonly changes: readonly { readonly scope: string; readonly now: 'frozen' | 'thawed' }[];
}
