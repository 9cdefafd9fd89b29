import { checkedConditions, type UncheckedCondition } from '../../domain/conditions.ts';
import { explain } from '../../domain/errors.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';
import {
  WireError,
  conditionCodec,
  installationReportCodec,
  hardwareReportCodec,
  type BlockDevice,
  type Cpu,
  type HardwareNode,
  type NetworkInterface,
} from '../../wire/codec.ts';
import { readAcceptanceResult } from './acceptance.ts';
import { hasAtMostFields, type MessageShape } from '../../wire/codec.ts';
import type { ReceivedHeartbeat } from '../../wire/codec.ts';

/** Reports of a heartbeat that may be stored, and the faults of the others. */
export interface Reports {
  readonly valid: Pick<
    HeartbeatRecord,
    'hardwareReport' | 'installationReport' | 'conditions' | 'acceptance'
  >;
  /** Null if the report is valid or absent. */
  readonly hardwareFault: string | null;
  readonly installationFault: string | null;
  /** Number of conditions that may not be stored. */
  readonly droppedConditions: number;
}

const SIZE_MAX_BYTES = 1024 * 1024;
const INSTALLATION_FIELDS_MAX = 1024;
const INSTALLATION_SHAPE: MessageShape = { 2: {}, 3: {} };

/** Decodes and checks the reports; only for known agents, because it is expensive. Never throws. */
export function readReports(received: ReceivedHeartbeat): Reports {
  const { hardwareReport, installationReport: raw } = received;
  const acceptance = received.acceptance && readAcceptanceResult(received.acceptance);
  const hardware = hardwareReport?.length ? judge(hardwareReport, judgeHardwareReport) : null;
  const installation = raw ? judge(raw, judgeInstallationReport) : null;
  const { conditions, dropped } = checkedConditions(received.conditions.map(readCondition));
  return {
    valid: {
      ...(hardware && 'report' in hardware ? { hardwareReport: hardware.report } : {}),
      ...(installation && 'report' in installation
        ? { installationReport: installation.report }
        : {}),
      ...(conditions.length > 0 ? { conditions } : {}),
      ...(acceptance ? { acceptance } : {}),
    },
    hardwareFault: hardware && 'fault' in hardware ? hardware.fault : null,
    installationFault: installation && 'fault' in installation ? installation.fault : null,
    droppedConditions: dropped,
  };
}

const CONDITION_MAX_BYTES = 16 * 1024;
/** As in `Condition.Status` of the protocol. */
const STATUSES = ['Unknown', 'True', 'False'];
const UNREADABLE: UncheckedCondition = { type: null, status: null, reason: null, detail: null };

function readCondition(raw: Uint8Array): UncheckedCondition {
  try {
    if (raw.length > CONDITION_MAX_BYTES || !hasAtMostFields(raw, {}, INSTALLATION_FIELDS_MAX)) {
      return UNREADABLE;
    }
    const { type, status, reason, detail } = conditionCodec.decode(raw);
    return { type, status: STATUSES[status ?? 0], reason, detail };
  } catch (error) {
    if (error instanceof WireError) return UNREADABLE;
    throw error;
  }
}

type ReportVerdict<Report> = { readonly report: Report } | { readonly fault: string };

function judge<Report>(
  raw: Uint8Array,
  read: (raw: Uint8Array) => ReportVerdict<Report>,
): ReportVerdict<Report> {
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
): ReportVerdict<NonNullable<HeartbeatRecord['installationReport']>> {
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

/** In all parts together: a machine with a thousand disks stays below. */
const FIELDS_MAX = 32_768;
const ITEMS_MAX = 4096;
const TEXT_MAX = 1024;
const CORES_MAX = 1_000_000;
/** 64 PiB, more than any disk or machine has. */
const BYTES_MAX = 2n ** 56n;

const NODE_SHAPE: MessageShape = {
  /** Processors with their architecture, disks, links with their speeds. */
  10: { 1: {} },
  11: {},
  12: { 3: 'packed' },
};
const REPORT_SHAPE: MessageShape = { 1: NODE_SHAPE };

/** The report to store, serialized, or why it may not be stored. */
export type HardwareVerdict = { readonly report: Uint8Array } | { readonly fault: string };

/**
 * Checks a serialized `AgentHardwareReport`. Ratios that are no numbers are removed: agents divide
 * by a size that a machine may not report. The caller checks the report's size.
 * @throws {WireError} it cannot be read.
 */
export function judgeHardwareReport(serialized: Uint8Array): HardwareVerdict {
  if (!hasAtMostFields(serialized, REPORT_SHAPE, FIELDS_MAX)) {
    return { fault: 'it has too many fields' };
  }
  const decoded = hardwareReportCodec.decode(serialized);
  const { report, warning } = decoded;
  if (!report) return { fault: 'it has warnings but no report' };
  if ((warning ?? []).length > ITEMS_MAX) return { fault: 'too many warnings' };
  const node = withoutNonNumbers(report);
  const fault = nodeFault(node);
  if (fault !== null) return { fault };
  // A complete node is stored as it came, including fields that only a newer program knows.
  const isWhole = node === report;
  return {
    report: isWhole ? serialized : hardwareReportCodec.encode({ ...decoded, report: node }),
  };
}

/** The same node without ratios that are no numbers. */
function withoutNonNumbers(node: HardwareNode): HardwareNode {
  const disks = node.blockDevice ?? [];
  const isWhole = [node, ...disks].every((part) => !Object.values(part).some(isNonNumber));
  if (isWhole) return node;
  return { ...numbersOf(node), blockDevice: disks.map(numbersOf) };
}

const isNonNumber = (value: unknown): boolean =>
  typeof value === 'number' && !Number.isFinite(value);
const numbersOf = <Part extends object>(part: Part): Part =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => !isNonNumber(value))) as Part;

function nodeFault(node: HardwareNode): string | null {
  const cpus = node.cpu ?? [];
  const disks = node.blockDevice ?? [];
  const links = node.networkInterface ?? [];
  const checks: [name: string, holds: boolean][] = [
    ['names', areTexts(node.manufacturer, node.product, node.serialNumber)],
    ['memory', isSize(node.memoryInstalledBytes) && isRatio(node.memoryUsableRatio)],
    ['number of parts', [cpus, disks, links].every(({ length }) => length <= ITEMS_MAX)],
    ['cpu', cpus.every(isCpu)],
    ['block device', disks.every(isDisk)],
    ['network interface', links.every(isLink)],
  ];
  const failed = checks.find(([, holds]) => !holds);
  return failed ? `${failed[0]} out of range` : null;
}

const isCpu = ({ cores, hardwareThreads, vendor, model }: Cpu): boolean =>
  isCount(cores) && isCount(hardwareThreads) && areTexts(vendor, model);

const isDisk = (disk: BlockDevice): boolean =>
  areTexts(disk.vendor, disk.deviceModel, disk.serialNumber, disk.name, ...(disk.byId ?? [])) &&
  isSize(disk.capacityBytes) &&
  (disk.logicalBlockSizeBytes ?? 0) >= 0 &&
  (disk.physicalBlockSizeBytes ?? 0) >= 0 &&
  (disk.wwn ?? []).length <= TEXT_MAX &&
  (disk.mediaErrors ?? 0n) >= 0n &&
  [disk.availableSpareRatio, disk.usageRatio].every(isRatio);

const isLink = ({ mac, name, driver, ...link }: NetworkInterface): boolean =>
  [0, 6].includes((mac ?? []).length) &&
  areTexts(name, driver) &&
  isSize(link.currentSpeedBytes) &&
  (link.supportedSpeedBytes ?? []).every(isSize);

const isCount = (count: number | null | undefined): boolean =>
  (count ?? 0) >= 0 && (count ?? 0) <= CORES_MAX;
const isSize = (bytes: bigint | null | undefined): boolean =>
  (bytes ?? 0n) >= 0n && (bytes ?? 0n) <= BYTES_MAX;
/** Wear may exceed 1: vendors count beyond the promised life. */
const isRatio = (ratio: number | null | undefined): boolean =>
  Number.isFinite(ratio ?? 0) && (ratio ?? 0) >= 0 && (ratio ?? 0) <= 100;
const areTexts = (...texts: (string | null | undefined)[]): boolean =>
  texts.every((text) => (text ?? '').length <= TEXT_MAX);
