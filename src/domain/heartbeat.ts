import type { AcceptanceReport, AcceptanceRequest } from './acceptance.ts';
import type { ReportedConditions } from './conditions.ts';
import type { FleetError } from './errors.ts';
import type { MachineId } from './ids.ts';

/** One call of an agent over TLS, before its key is checked against the BMDB. */
export interface HeartbeatRecord extends ReportedConditions {
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
  /** Already checked; absent: its agent reports no result. */
  readonly acceptance?: AcceptanceReport;
}

export type HeartbeatOutcome =
  | {
      readonly kind: 'accepted';
      /** Database time of the heartbeat, epoch milliseconds. */
      readonly atMs: number;
      /** Serialized `OSInstallationRequest`, if this machine has a pending one. */
      readonly installationRequest: Uint8Array | null;
      /** Generation of that request in its row, as in the message; absent: unknown. */
      readonly requestGeneration?: bigint;
      /** The agent reported a successful installation, and nothing forbids a reboot now. */
      readonly mayReboot?: true;
      /** The acceptance that is due; absent: none. */
      readonly acceptance?: AcceptanceRequest;
    }
  /** Unknown machine or wrong key: the answer must not show which. */
  | { readonly kind: 'unauthenticated' }
  /** The report's generation is newer than the request, or the report cannot be stored. */
  | { readonly kind: 'invalid'; readonly message: string };

/** Another transaction works on the machine's rows. Nothing was recorded; the agent may retry. */
export interface HeartbeatRefusal {
  readonly kind: 'unavailable';
  /** Retryable. */
  readonly error: FleetError;
}

const BOOT_ID = /^[\x20-\x7e]{0,128}$/;
const REPORT_MAX_BYTES = 16 * 1024 * 1024;
const fits = (report: Uint8Array | undefined) => (report?.length ?? 0) <= REPORT_MAX_BYTES;

/**
 * The part of a heartbeat that can be stored, so that a faulty heartbeat spoils no batch. The
 * heartbeat itself can always be stored; `fault` says what was left out.
 */
export function storable(record: HeartbeatRecord): {
  readonly record: HeartbeatRecord;
  readonly fault: string | null;
} {
  const { bootId, hardwareReport, installationReport, conditions, acceptance } = record;
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
    ...(conditions ? { conditions } : {}),
    ...(acceptance ? { acceptance } : {}),
  };
  const left = [
    ...(boot ? [] : ['boot id']),
    ...(hardware ? [] : ['hardware report']),
    ...(installation ? [] : ['installation report']),
  ];
  return { record: kept, fault: `cannot be stored: ${left.join(', ')}` };
}

/** The storage of the agent server. */
export interface HeartbeatStore {
  /**
   * Authenticates and records a batch. Answers in the batch's order once all of it is committed. A
   * batch may be repeated: the repetition writes the same values again.
   * @throws {Unreachable} the database is not available; part of the batch may have been written.
   */
  recordHeartbeats(
    batch: readonly HeartbeatRecord[],
  ): Promise<(HeartbeatOutcome | HeartbeatRefusal)[]>;
  /**
   * A bounded number of machines whose agent reports but whose hardware report is missing. Leaves
   * out agents that started a moment ago. Absent: the store cannot tell.
   * @throws {Unreachable} the database is not available.
   */
  withoutHardware?(): Promise<readonly MachineId[]>;
}
