import type { FleetError } from './errors.ts';
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
      /** Generation of that request in its row, as in the message; absent: it is not known. */
      readonly requestGeneration?: bigint;
      /** The agent reported that the installation succeeded, and nothing forbids a reboot now. */
      readonly mayReboot?: true;
    }
  /** Unknown machine or wrong key: the two must look alike. */
  | { readonly kind: 'unauthenticated' }
  /** A report of a generation newer than the request, or something that cannot be stored. */
  | { readonly kind: 'invalid'; readonly message: string };

/** Somebody else works on the machine's rows, so nothing was recorded; it may be sent again. */
export interface HeartbeatRefusal {
  readonly kind: 'unavailable';
  /** Retryable. */
  readonly error: FleetError;
}

const BOOT_ID = /^[\x20-\x7e]{0,128}$/;
const REPORT_MAX_BYTES = 16 * 1024 * 1024;
const fits = (report: Uint8Array | undefined) => (report?.length ?? 0) <= REPORT_MAX_BYTES;

/**
 * The part of a heartbeat that can be stored, so that a faulty one spoils no batch. The heartbeat
 * itself can always be stored; `fault` says what was left out.
 */
export function storable(record: HeartbeatRecord): {
  readonly record: HeartbeatRecord;
  readonly fault: string | null;
} {
  const { bootId, hardwareReport, installationReport } = record;
  const boot = bootId === null || BOOT_ID.test(bootId);
  const hardware = fits(hardwareReport);
  const installation = fits(installationReport?.raw);
  if (boot && hardware && installation) return { record, fault: null };
  const { machineId, publicKey } = record;
  const kept: HeartbeatRecord = {
    machineId,
    publicKey,
    bootId: boot ? bootId : null,
    ...(hardwareReport && hardware ? { hardwareReport } : {}),
    ...(installationReport && installation ? { installationReport } : {}),
  };
  const left = [
    ...(boot ? [] : ['boot id']),
    ...(hardware ? [] : ['hardware report']),
    ...(installation ? [] : ['installation report']),
  ];
  return { record: kept, fault: `cannot be stored: ${left.join(', ')}` };
}

/** Where the agent server writes. */
export interface HeartbeatStore {
  /**
   * Authenticates and records; answers in the order of the batch, once all of it is committed. A
   * batch may be repeated: what was written already is written once more.
   * @throws {Unreachable} database not available; part of the batch may have been written.
   */
  recordHeartbeats(
    batch: readonly HeartbeatRecord[],
  ): Promise<(HeartbeatOutcome | HeartbeatRefusal)[]>;
  /**
   * Machines whose agent reports but whose hardware report is not there, a bounded number of them;
   * agents that were started a moment ago are left out. Absent: the store cannot tell.
   * @throws {Unreachable} database not available.
   */
  withoutHardware?(): Promise<readonly MachineId[]>;
}
