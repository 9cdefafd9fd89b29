import type { BlockDevice, Condition, HardwareReport, NetworkInterface } from '../../wire/codec.ts';
import { Condition_Status as Status } from '../../wire/messages.ts';
import { degradedArrays, isRootReadOnly, uncorrectedErrors } from './kernel-files.ts';
import { createTree, type Tree } from './tree.ts';

/**
 * Judges what is wrong with the machine. Called at each check, because some faults show only as a
 * change. Never throws.
 * @param skewMs how far the clock is ahead of the database's; null: unknown.
 */
export type JudgeConditions = (
  report: HardwareReport,
  skewMs: number | null,
) => readonly Condition[];

/** The lines about one type. `known`: whether its sources could be read. */
interface Findings {
  readonly known: boolean;
  /** Null: some of it is readable on this machine, but not now. */
  readonly faults: readonly (string | null)[];
}

/** Without a source there is nothing to say. */
const SILENT: Findings = { known: false, faults: [] };
const told = (faults: readonly (string | null)[]): Findings => ({ known: true, faults });

const SPARE_MIN_RATIO = 0.1;
const USAGE_MAX_RATIO = 1;
/** Link changes between two checks that count as flapping. */
const CARRIER_CHANGES_MAX = 10;
const SKEW_MAX_MS = 30_000;
/**
 * Servers that know no conditions limit a heartbeat to 16 KiB without its reports. All types
 * together stay below, whatever their characters.
 */
const REASON_MAX = 150;
const DETAIL_MAX = 400;

/**
 * Judges conditions from the hardware report and from the kernel's files below `root` (null: none).
 * Compares counts of media errors with the first that it saw. A type that no source of this machine
 * tells is left out. A type that was known before and cannot be read now is Unknown, but a fault
 * stays: a disk that no longer answers is no better.
 */
export function createConditions(root: string | null): JudgeConditions {
  const before = new Map<string, Condition>();
  const judgeDisks = createDiskJudge();
  const judgeLinks = createLinkJudge();
  return (report, skewMs) => {
    const node = report.report ?? {};
    const tree = root === null ? null : createTree(root, []);
    const disks = node.blockDevice ?? [];
    const findings: Readonly<Record<string, Findings>> = {
      ...judgeDisks(disks, report.warning ?? []),
      'raid-degraded': judgeRaid(tree),
      'root-read-only': judgeRoot(tree),
      'memory-errors': judgeMemory(tree),
      'network-degraded': judgeLinks(node.networkInterface ?? [], tree),
      'clock-skewed': judgeClock(skewMs),
    };
    return Object.entries(findings).flatMap(([type, found]) => {
      const last = before.get(type);
      if (!found.known && !last) return [];
      const now = toCondition(type, found);
      const stays = last?.status === Status.STATUS_TRUE && now.status === Status.STATUS_UNKNOWN;
      const condition = stays ? last : now;
      before.set(type, condition);
      return [condition];
    });
  };
}

function toCondition(type: string, { known, faults }: Findings): Condition {
  const lines = faults.filter((fault) => fault !== null);
  const [first = ''] = lines;
  if (lines.length > 0) {
    const more = lines.length > 1 ? ` (and ${lines.length - 1} more)` : '';
    const reason = `${first.slice(0, REASON_MAX)}${more}`;
    const detail = lines.slice(1).join('\n').slice(0, DETAIL_MAX);
    return { type, status: Status.STATUS_TRUE, reason, detail };
  }
  const isClear = known && faults.length === 0;
  const status = isClear ? Status.STATUS_FALSE : Status.STATUS_UNKNOWN;
  return { type, status, reason: isClear ? 'no fault found' : 'it cannot be read', detail: '' };
}

/** Name and serial number, which people need for a replacement. */
const nameOf = ({ name = '', serialNumber }: BlockDevice): string =>
  serialNumber ? `${name} (serial number ${serialNumber})` : `${name}`;

const keyOf = ({ name = '', serialNumber }: BlockDevice): string => `${serialNumber || name}`;
const hasHealth = ({ criticalWarning, mediaErrors }: BlockDevice): boolean =>
  (criticalWarning ?? null) !== null || (mediaErrors ?? null) !== null;
const hasWear = ({ availableSpareRatio: spare, usageRatio: usage }: BlockDevice): boolean =>
  (spare ?? null) !== null || (usage ?? null) !== null;

/** Programs of virtual disks and the like answer this; it is no failure. */
const NO_HEALTH = /health data/;

function createDiskJudge() {
  /** Media errors of each disk at first sight. */
  const before = new Map<string, bigint>();
  const healthy = new Set<string>();

  const grown = (disk: BlockDevice): bigint => {
    const errors = disk.mediaErrors ?? null;
    if (errors === null) return 0n;
    const first = before.get(keyOf(disk));
    if (first === undefined) before.set(keyOf(disk), errors);
    return errors - (first ?? errors);
  };
  const failing = (disk: BlockDevice, warnings: readonly string[]): (string | null)[] => {
    if (!hasHealth(disk)) {
      const failed = warnings.some(
        (each) => each.startsWith(`${disk.name}: `) && !NO_HEALTH.test(each),
      );
      return healthy.has(keyOf(disk)) || failed ? [null] : [];
    }
    healthy.add(keyOf(disk));
    const errors = grown(disk);
    return [
      ...(disk.criticalWarning ? [`${nameOf(disk)} warns that it fails`] : []),
      ...(errors > 0n ? [`${nameOf(disk)} has ${errors} new media errors`] : []),
    ];
  };
  return (disks: readonly BlockDevice[], warnings: readonly string[]) => {
    const faults = disks.flatMap((disk) => failing(disk, warnings));
    const isKnown = faults.length > 0 || disks.some(hasHealth);
    return {
      'disk-failing': isKnown ? told(faults) : SILENT,
      'disk-worn': disks.some(hasWear) ? told(disks.flatMap(wornOut)) : SILENT,
    };
  };
}

function wornOut(disk: BlockDevice): string[] {
  const spare = disk.availableSpareRatio ?? 1;
  const usage = disk.usageRatio ?? 0;
  const percent = (ratio: number) => `${Math.round(ratio * 100)} %`;
  return [
    ...(spare < SPARE_MIN_RATIO
      ? [`${nameOf(disk)} has ${percent(spare)} of its spare blocks left`]
      : []),
    ...(usage > USAGE_MAX_RATIO
      ? [`${nameOf(disk)} has used ${percent(usage)} of its rated life`]
      : []),
  ];
}

function judgeRaid(tree: Tree | null): Findings {
  const mdstat = tree?.text('proc/mdstat') ?? null;
  if (mdstat === null) return SILENT;
  return told(degradedArrays(mdstat).map((array) => `${array.name} misses a disk: ${array.state}`));
}

function judgeRoot(tree: Tree | null): Findings {
  const isReadOnly = isRootReadOnly(tree?.text('proc/mounts') ?? '');
  if (isReadOnly === null) return SILENT;
  return told(isReadOnly ? ['the root file system is mounted read-only'] : []);
}

function judgeMemory(tree: Tree | null): Findings {
  const errors = tree && uncorrectedErrors(tree);
  if (errors === null) return SILENT;
  const faults = [...errors].filter(([, count]) => count > 0);
  return told(faults.map(([name, count]) => `${name} counted ${count} uncorrected memory errors`));
}

function createLinkJudge() {
  const changesBefore = new Map<string, number>();

  /** Null: the driver does not count. */
  const flaps = (name: string, tree: Tree | null): number | null => {
    const changes = tree?.number(`sys/class/net/${name}/carrier_changes`) ?? null;
    const before = changesBefore.get(name);
    if (changes === null) return null;
    changesBefore.set(name, changes);
    return changes - (before ?? changes);
  };
  return (links: readonly NetworkInterface[], tree: Tree | null): Findings => {
    const judged = links.map((link) => {
      const name = link.name ?? '';
      const [fastest = 0n] = link.supportedSpeedBytes ?? [];
      const speed = link.linkUp ? (link.currentSpeedBytes ?? 0n) : 0n;
      const changes = flaps(name, tree);
      const isSlow = speed > 0n && speed < fastest;
      return {
        isKnown: changes !== null || (speed > 0n && fastest > 0n),
        faults: [
          ...(isSlow ? [`${name} runs at ${megabits(speed)} of ${megabits(fastest)} Mbit/s`] : []),
          ...((changes ?? 0) > CARRIER_CHANGES_MAX
            ? [`the link of ${name} changed ${changes} times since the last check`]
            : []),
        ],
      };
    });
    if (!judged.some(({ isKnown }) => isKnown)) return SILENT;
    return told(judged.flatMap(({ faults }) => faults));
  };
}

const BYTES_PER_MEGABIT = 125_000n;
const megabits = (speedBytes: bigint): bigint => speedBytes / BYTES_PER_MEGABIT;

function judgeClock(skewMs: number | null): Findings {
  if (skewMs === null) return SILENT;
  if (Math.abs(skewMs) <= SKEW_MAX_MS) return told([]);
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return told([`the clock is ${seconds} s ${skewMs > 0 ? 'ahead' : 'behind'}`]);
}

/** An exchange with a server that told its time. Epoch milliseconds. */
export interface ClockReading {
  /** By the clock of the database; 0: not told. */
  readonly serverMs: number;
  /** Our clock before and after the call. */
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** How far our clock is ahead, at least: the call itself takes time. Null: the server did not tell. */
export function clockSkewMs({ serverMs, sentMs, receivedMs }: ClockReading): number | null {
  if (serverMs === 0) return null;
  if (serverMs < sentMs) return sentMs - serverMs;
  return serverMs > receivedMs ? receivedMs - serverMs : 0;
}
