import type { ReportedCondition } from '../../domain/conditions.ts';
import {
  hardwareReportCodec,
  WireError,
  type BlockDevice,
  type HardwareReport,
} from '../../wire/codec.ts';

/** Firmware may reserve some memory at one boot and not at another. */
const MEMORY_MIN_RATIO = 0.95;
const GIB = 1024n ** 3n;

/**
 * The condition that follows from a new hardware report, compared with the last complete one that
 * was stored for the same machine; an accepted inventory will replace this baseline. Null: nothing
 * is missing. `unreadable`: the agent could not read its memory or its disks, so that nothing
 * follows.
 */
export function missingHardware(
  before: Uint8Array,
  now: Uint8Array,
): ReportedCondition | 'unreadable' | null {
  const [old, fresh] = [readReport(before), readReport(now)];
  if (!old) return null;
  if (!fresh || isUnreadable(old, fresh)) return 'unreadable';
  const missing = [...missingMemory(old, fresh), ...missingDisks(old, fresh)];
  if (missing.length === 0) return null;
  const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : '';
  return {
    ...{ type: 'hardware-missing', status: 'True' },
    reason: `${missing[0]}${more}`.slice(0, 200),
    detail: missing.slice(1).join('\n').slice(0, 2_000),
  };
}

/** The parts that were missing are back. */
export const HARDWARE_COMPLETE: ReportedCondition = {
  ...{ type: 'hardware-missing', status: 'False', reason: 'no part is missing', detail: '' },
};

/** Null: an older program stored something else. */
function readReport(raw: Uint8Array): HardwareReport | null {
  try {
    return hardwareReportCodec.decode(raw);
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}

const memoryOf = ({ report }: HardwareReport): bigint => report?.memoryInstalledBytes ?? 0n;

const isUnreadable = (old: HardwareReport, now: HardwareReport): boolean =>
  (memoryOf(old) > 0n && memoryOf(now) === 0n) ||
  (now.warning ?? []).some((each) => each.startsWith('block devices:'));

function missingMemory(old: HardwareReport, now: HardwareReport): string[] {
  const [had, has] = [memoryOf(old), memoryOf(now)];
  if (Number(has) >= Number(had) * MEMORY_MIN_RATIO) return [];
  return [`memory: ${has / GIB} GiB of ${had / GIB} GiB`];
}

function missingDisks(old: HardwareReport, now: HardwareReport): string[] {
  const disks = now.report?.blockDevice ?? [];
  return (old.report?.blockDevice ?? [])
    .filter((disk) => !disks.some((other) => isSame(disk, other)))
    .map((disk) => `disk ${disk.name}${disk.serialNumber ? ` (${disk.serialNumber})` : ''}`);
}

/** Names change from boot to boot, so that they count only for disks without anything better. */
function isSame(disk: BlockDevice, other: BlockDevice): boolean {
  if (disk.serialNumber) return disk.serialNumber === other.serialNumber;
  if (disk.wwn?.length) return Buffer.compare(disk.wwn, other.wwn ?? new Uint8Array()) === 0;
  return disk.name === other.name;
}
