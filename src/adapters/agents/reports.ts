import { explain } from '../../domain/errors.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';
import { WireError, installationReportCodec } from '../../wire/codec.ts';
import { hasAtMostFields } from '../../wire/fields.ts';
import type { MessageShape } from '../../wire/fields.ts';
import type { ReceivedHeartbeat } from '../../wire/heartbeat.ts';
import { judgeHardwareReport } from './hardware-check.ts';

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
  const { hardwareReport, installationReport: raw } = received;
  const hardware = hardwareReport?.length ? judge(hardwareReport, judgeHardwareReport) : null;
  const installation = raw ? judge(raw, judgeInstallationReport) : null;
  return {
    valid: {
      ...(hardware && 'report' in hardware ? { hardwareReport: hardware.report } : {}),
      ...(installation && 'report' in installation
        ? { installationReport: installation.report }
        : {}),
    },
    hardwareFault: hardware && 'fault' in hardware ? hardware.fault : null,
    installationFault: installation && 'fault' in installation ? installation.fault : null,
  };
}

type Verdict<Report> = { readonly report: Report } | { readonly fault: string };

function judge<Report>(
  raw: Uint8Array,
  read: (raw: Uint8Array) => Verdict<Report>,
): Verdict<Report> {
  if (raw.length > SIZE_MAX_BYTES) return { fault: `larger than ${SIZE_MAX_BYTES} bytes` };
  try {
    return read(raw);
  } catch (error) {
    if (error instanceof WireError) return { fault: explain(error) };
    throw error;
  }
}

function judgeInstallationReport(
  raw: Uint8Array,
): Verdict<NonNullable<HeartbeatRecord['installationReport']>> {
  if (!hasAtMostFields(raw, INSTALLATION_SHAPE, INSTALLATION_FIELDS_MAX)) {
    return { fault: 'too many fields' };
  }
  const { generation, result } = installationReportCodec.decode(raw);
  if (!result) return { fault: 'it has no result' };
  return {
    report: {
      generation: generation ?? 0n,
      result: result === 'success' ? 'Success' : 'Error',
      raw,
    },
  };
}
