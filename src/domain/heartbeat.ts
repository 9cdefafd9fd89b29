import type { MachineId } from './ids.ts';

/** One authenticated-by-TLS call of an agent, before its key was checked against the BMDB. */
export interface HeartbeatRecord {
  readonly machineId: MachineId;
  /** Raw Ed25519 public key (32 bytes) of the client certificate. */
  readonly publicKey: Uint8Array;
  readonly bootId: string | null;
  /** Serialized `AgentHardwareReport`, already validated; absent when none was sent. */
  readonly hardwareReport?: Uint8Array;
  readonly installationReport?: {
    readonly generation: bigint;
    readonly result: 'Success' | 'Error';
    /** Serialized `OSInstallationReport`. */
    readonly raw: Uint8Array;
  };
}

export type HeartbeatOutcome =
  | {
      readonly kind: 'accepted';
      /** Database time of the heartbeat, epoch milliseconds. */
      readonly atMs: number;
      /** Serialized `OSInstallationRequest`, when one is pending for this machine. */
      readonly installationRequest: Uint8Array | null;
    }
  /** Unknown machine or wrong key: the two must look alike. */
  | { readonly kind: 'unauthenticated' }
  /** A report of a generation newer than the request. */
  | { readonly kind: 'invalid'; readonly message: string };

/** Where the agent server writes. One call is one transaction for the whole batch. */
export interface HeartbeatStore {
  /**
   * Authenticates and records; answers in the order of the batch.
   * @throws {Unreachable} database not available; nothing was written.
   */
  recordHeartbeats(batch: readonly HeartbeatRecord[]): Promise<HeartbeatOutcome[]>;
}
