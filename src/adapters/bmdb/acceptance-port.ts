import type { AcceptanceCheck, AcceptanceProfile } from '../../domain/acceptance.ts';
import type { MachineId } from '../../domain/ids.ts';

/** Acceptances of machines. Needs no session. */
export interface AcceptanceRepository {
  /** The checks of a machine's current acceptance; null: none was ever requested. */
  read(machine: MachineId, signal: AbortSignal): Promise<AcceptanceDetail | null>;
  /** Makes an acceptance wait for the end of the repair, unless one is waiting or due. */
  request(machines: readonly MachineId[]): Promise<void>;
  /** Makes those due that wait. */
  begin(machines: readonly MachineId[]): Promise<void>;
}

export interface AcceptanceDetail {
  /** What was requested; null: its agent has not got the request. */
  readonly profile: AcceptanceProfile | null;
  readonly checks: readonly AcceptanceCheck[];
}
