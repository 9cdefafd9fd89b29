import { explain } from '../../domain/errors.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';
import { WireError, installationReportCodec } from '../../wire/codec.ts';
import { hasAtMostFields } from '../../wire/fields.ts';
import type { MessageShape } from '../../wire/fields.ts';
import type { ReceivedHeartbeat } from '../../wire/heartbeat.ts';
import { hardwareReportFault } from './hardware-check.ts';

/** The reports of a heartbeat that may be stored, and why the others may not. */
export interface Reports {
  readonly valid: Pick<HeartbeatRecord, 'hardwareReport' | 'installationReport'>;
  /** Null when it is valid or absent. */
  readonly hardwareFault: string | null;
  readonly installationFault: string | null;
}

const SIZE_MAX_BYTES = 1024 * 1024;
const INSTALLATION_FIELDS_MAX = 1024;
const INSTALLATION_SHAPE: MessageShape = { 2: {}, 3: {} };

/** Decodes and judges the reports: only for callers that are known to be agents. Never throws. */
export function readReports(received: ReceivedHeartbeat): Reports {
  const hardware = received.hardwareReport;
  const raw = received.installationReport;
  const hardwareFault = faultOf(hardware, hardwareReportFault);
  const installationFault = faultOf(raw, installationReportFault);
  return {
    valid: {
      ...(hardware?.length && hardwareFault === null ? { hardwareReport: hardware } : {}),
      ...(raw && installationFault === null ? { installationReport: toInstallation(raw) } : {}),
    },
    hardwareFault: hardware?.length ? hardwareFault : null,
    installationFault,
  };
}

function faultOf(
  report: Uint8Array | null,
  judge: (report: Uint8Array) => string | null,
): string | null {
  if (!report) return null;
  if (report.length > SIZE_MAX_BYTES) return `larger than ${SIZE_MAX_BYTES} bytes`;
  try {
    return judge(report);
  } catch (error) {
    if (error instanceof WireError) return explain(error);
    throw error;
  }
}

function installationReportFault(raw: Uint8Array): string | null {
  if (!hasAtMostFields(raw, INSTALLATION_SHAPE, INSTALLATION_FIELDS_MAX)) return 'too many fields';
  return installationReportCodec.decode(raw).result ? null : 'it has no result';
}

function toInstallation(raw: Uint8Array): NonNullable<HeartbeatRecord['installationReport']> {
  const { generation, result } = installationReportCodec.decode(raw);
  return { generation: generation ?? 0n, result: result === 'success' ? 'Success' : 'Error', raw };
}
