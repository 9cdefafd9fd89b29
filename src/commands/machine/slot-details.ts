import type { RequestState } from '../../adapters/bmdb/port.ts';
import type { HoldRow, MachineRow } from '../../domain/machine.ts';
import type { LadderPolicy } from '../../domain/recovery/ladder.ts';
import type { Selected } from './selection.ts';

/** Everything that is told of one slot. */
export interface SlotDetails {
  readonly nowMs: number;
  readonly selected: Selected;
  /** The machine that was meant; null: there is none on the slot. */
  readonly row: MachineRow | null;
  /** How often each rung may be tried on its provider's machines. */
  readonly ladder: LadderPolicy;
  /** Who put it under quarantine; null: nobody, or not known. */
  readonly quarantinedBy: string | null;
  /** What its agent reported of a failed installation, on one line; null: none failed, or not known. */
  readonly installFailure: string | null;
  /** What the takeover that started its agent warned of, on one line; null: nothing. */
  readonly startWarning: string | null;
  readonly holds: readonly HoldRow[];
  /** Settled ones too, newest first. */
  readonly requests: readonly RequestState[];
}
