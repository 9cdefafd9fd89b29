import { hardwareReportCodec } from '../../wire/codec.ts';
import type { BlockDevice, Cpu, HardwareNode, NetworkInterface } from '../../wire/codec.ts';
import { hasAtMostFields } from '../../wire/fields.ts';
import type { MessageShape } from '../../wire/fields.ts';

/** Through all its parts: a machine of a thousand disks stays below. */
const FIELDS_MAX = 32_768;
const ITEMS_MAX = 4096;
const TEXT_MAX = 1024;
const CORES_MAX = 1_000_000;
/** 64 PiB, which is beyond any one disk or machine. */
const BYTES_MAX = 2n ** 56n;

const NODE_SHAPE: MessageShape = {
  /** Processors, the architecture inside them, disks, links with their speeds. */
  10: { 1: {} },
  11: {},
  12: { 3: 'packed' },
};
const REPORT_SHAPE: MessageShape = { 1: NODE_SHAPE };

/**
 * Why a serialized `AgentHardwareReport` must not be stored; null when it may be. Its size
 * is for the caller to check. @throws {WireError} it cannot be read.
 */
export function hardwareReportFault(serialized: Uint8Array): string | null {
  if (!hasAtMostFields(serialized, REPORT_SHAPE, FIELDS_MAX)) return 'it has too many fields';
  const { report, warning } = hardwareReportCodec.decode(serialized);
  if (!report) return 'it has warnings but no report';
  if ((warning ?? []).length > ITEMS_MAX) return 'too many warnings';
  return nodeFault(report);
}

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
/** Wear may pass 1: vendors count beyond the life they promised. */
const isRatio = (ratio: number | null | undefined): boolean =>
  Number.isFinite(ratio ?? 0) && (ratio ?? 0) >= 0 && (ratio ?? 0) <= 100;
const areTexts = (...texts: (string | null | undefined)[]): boolean =>
  texts.every((text) => (text ?? '').length <= TEXT_MAX);
