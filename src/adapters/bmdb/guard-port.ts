import type { GuardRow } from '../../domain/machine.ts';
import type { GuardCounts } from '../../domain/recovery/guard-judgement.ts';

/** The fleet guard's rows. Which limits hold is the implementation's configuration. */
export interface GuardBook {
  /**
   * An assessment of the whole fleet, by one daemon at a time: notes that heartbeats are being taken in
   * here (when they are), counts who is silent, and freezes or thaws. One transaction; when another
   * daemon did so less than `GuardPolicy.assessMs` ago it only reads what that one found.
   */
  assess(intake: { readonly ingestUp: boolean }): Promise<GuardAssessment>;
}

export interface GuardAssessment {
  readonly rows: readonly GuardRow[];
  /** Of the fleet, and of each provider with machines. */
  readonly counts: readonly GuardCounts[];
  /** What this very assessment froze or thawed. */
  readonly changes: readonly { readonly scope: string; readonly now: 'frozen' | 'thawed' }[];
}
