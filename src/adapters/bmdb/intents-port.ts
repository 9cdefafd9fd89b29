import type { MachineId, ProviderName, Witness } from '../../domain/ids.ts';
import type { IntentRow, Provided } from '../../domain/machine.ts';
import type { Lease } from './port.ts';

/** Write-ahead intents of creation. `witness`: the creation key, also a tag at the provider. */
export interface IntentRepository {
  /**
   * Commits an intent before any provider call. Chooses a new machine id.
   * @throws {WorkConflict} the slot already has an open or unresolved intent, or a machine.
   * @throws {NothingToDo} a hold or a penalty forbids the use of the slot.
   * @throws {LeaseLost} `lease` is another daemon's now.
   */
  open(input: {
    provider: ProviderName;
    slotId: string;
    hostname: string;
    /** It takes the place of a lost machine, see `Target`. */
    replaces?: boolean;
    /** Writes only while this session holds it. */
    lease?: Lease;
  }): Promise<IntentRow>;
  /**
   * Takes over an intent whose session is dead. @throws {WorkConflict} the session is alive, or the
   * intent has ended.
   */
  resume(witness: Witness): Promise<IntentRow>;
  /**
   * To be called before each attempt, and when an attempt's outcome is unknown.
   * @throws {NothingToDo} `attempts` is given, and a hold or a penalty now forbids the slot, or the
   * slot has a machine. Nothing was written, and the attempt must not be made.
   */
  progress(
    witness: Witness,
    change: {
      attempts?: number;
      ambiguous?: boolean;
      unresolved?: boolean;
      lastError?: string;
      /** True: a complete search found nothing (the first time is kept). False: start over. */
      empty?: boolean;
    },
  ): Promise<void>;
  /**
   * Creates the machine with its hardware and marks the intent adopted, in one transaction.
   * Idempotent: adopting an adopted intent again returns the same machine.
   */
  adopt(witness: Witness, provided: Provided): Promise<MachineId>;
  /** Ends an intent without a machine; `penaltyMs` bars the slot for that time. */
  end(
    witness: Witness,
    end: { state: 'failed' | 'abandoned'; cause: string; penaltyMs?: number },
  ): Promise<void>;
}
