import type { ConditionRow, ConditionStatus } from '../../domain/conditions.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';

/** Writes and reads conditions of machines. Needs no session: reports come from anywhere. */
export interface ConditionRepository {
  /**
   * Stores reports; each replaces the last one of its type and source on its slot. A change of
   * status becomes a line in the slot's log. An agent's or provider's `False` without an earlier
   * report is not stored.
   */
  report(reports: readonly ConditionReport[]): Promise<void>;
  /** All conditions of a slot, with those that are `False`, by type and source. */
  ofSlot(
    slot: { readonly provider: ProviderName; readonly slotId: string },
    signal: AbortSignal,
  ): Promise<readonly ConditionRow[]>;
}

export interface ConditionReport {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** The machine on the slot now, for the log; null: none. */
  readonly machineId: MachineId | null;
  readonly type: string;
  readonly source: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly detail: string;
  /** How long the report stays valid; null: until the next one. */
  readonly validForMs: number | null;
}
