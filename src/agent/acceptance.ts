import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  AcceptanceRequest,
  AcceptanceResult,
  BlockDevice,
  Check,
  Condition,
  HardwareReport,
  WireProfile,
} from '../wire/codec.ts';
import {
  AcceptanceResult_Check_Status as Status,
  Condition_Status as Given,
} from '../wire/messages.ts';

/** Answers a request for an acceptance. Never rejects. */
export type AcceptanceRunner = (
  request: AcceptanceRequest,
  skewMs: number | null,
) => Promise<AcceptanceResult>;

/** The machine as the checks see it. */
export interface AcceptanceDeps {
  readonly collect: () => Promise<HardwareReport>;
  /** As of a judge without memory. */
  readonly judge: (report: HardwareReport, skewMs: number | null) => readonly Condition[];
  /** Writes and removes a temporary file of the root file system. */
  readonly writeRoot: () => Promise<void>;
  /** Speed of a sequential read, in MB/s. @throws {Error} it fails or takes too long. */
  readonly readSpeed: (disk: BlockDevice) => Promise<number>;
}

/** These say something about a machine that has just been started, and need no load. */
const JUDGED = ['disk-failing', 'disk-worn', 'clock-skewed'];

/** The checks: memory, processors, disks, network, health, file system, clock, and reads. */
export function createAcceptanceRunner(deps: AcceptanceDeps): AcceptanceRunner {
  return async ({ id, profile }, skewMs) => {
    const wanted = profile ?? {};
    const report = await deps.collect();
    const found = inventoryOf(report);
    const health = deps.judge(report, skewMs).filter(({ type }) => JUDGED.includes(type ?? ''));
    const check = [...hardwareChecks(wanted, found), ...health.map(healthCheck)];
    check.push(await rootCheck(deps));
    for (const disk of wanted.readMegabytes ? (report.report?.blockDevice ?? []) : []) {
      check.push(await readCheck(disk, wanted.readMegabytes!, deps));
    }
    return { id: id ?? 0n, check, found };
  };
}

const GIB = 1024 ** 3;
const GB = 1e9;
const BYTES_PER_MEGABIT = 125_000;
/** Firmware keeps some memory for itself, and disks of one size differ a little. */
const TOLERANCE = 0.05;
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** 0: it cannot be read. */
function inventoryOf({ report }: HardwareReport): WireProfile {
  const sizes = (report?.blockDevice ?? [])
    .map(({ capacityBytes }) => Math.round(Number(capacityBytes ?? 0n) / GB))
    .filter((sizeGb) => sizeGb > 0);
  const speeds = (report?.networkInterface ?? []).map(({ linkUp, currentSpeedBytes }) =>
    linkUp ? Number(currentSpeedBytes ?? 0n) / BYTES_PER_MEGABIT : 0,
  );
  return {
    memoryGib: rounded(Number(report?.memoryInstalledBytes ?? 0n) / GIB),
    cpus: (report?.cpu ?? []).reduce((sum, { hardwareThreads }) => sum + (hardwareThreads ?? 0), 0),
    disks: [...Map.groupBy(sizes, (sizeGb) => sizeGb)]
      .toSorted(([a], [b]) => a - b)
      .map(([sizeGb, { length: count }]) => ({ sizeGb, count })),
    networkMbps: Math.round(Math.max(0, ...speeds)),
  };
}

function hardwareChecks(wanted: WireProfile, found: WireProfile): Check[] {
  const least = (name: string, unit: string, [want, has]: readonly number[], share = 1): Check => ({
    name,
    expected: want ? `${want} ${unit}` : '',
    ...measured(has ?? 0, unit, !want || (has ?? 0) >= want * share),
  });
  return [
    least('memory', 'GiB', [wanted.memoryGib ?? 0, found.memoryGib ?? 0], 1 - TOLERANCE),
    least('cpus', 'threads', [wanted.cpus ?? 0, found.cpus ?? 0]),
    ...(wanted.disks ?? []).map((disks) => diskCheck(disks, wanted.disks!, found.disks ?? [])),
    least('network', 'Mbit/s', [wanted.networkMbps ?? 0, found.networkMbps ?? 0]),
  ];
}

const measured = (
  value: number,
  unit: string,
  isEnough: boolean,
): Pick<Check, 'found' | 'status'> =>
  value === 0
    ? { found: 'it cannot be read', status: Status.STATUS_UNKNOWN }
    : { found: `${value} ${unit}`, status: isEnough ? Status.STATUS_OK : Status.STATUS_FAILED };

type Disks = NonNullable<WireProfile['disks']>;

/** Disks of nearly the same size count together, so that none counts for two. */
function diskCheck({ sizeGb, count }: Disks[number], wanted: Disks, found: Disks): Check {
  const size = sizeGb ?? 0;
  const fitting = (disks: Disks) =>
    disks
      .filter((each) => Math.abs((each.sizeGb ?? 0) - size) <= size * TOLERANCE)
      .reduce((sum, each) => sum + (each.count ?? 0), 0);
  return {
    name: 'disks',
    expected: `${count} × ${size} GB`,
    found: found.map((each) => `${each.count} × ${each.sizeGb} GB`).join(', ') || 'none',
    status: fitting(found) >= fitting(wanted) ? Status.STATUS_OK : Status.STATUS_FAILED,
  };
}

/** A fault that cannot be judged is no failure. */
function healthCheck({ type = '', reason = '', status }: Condition): Check {
  const isKnown = status !== Given.STATUS_UNKNOWN;
  return {
    name: type,
    expected: isKnown ? 'no fault' : '',
    found: reason,
    status: !isKnown
      ? Status.STATUS_UNKNOWN
      : status === Given.STATUS_TRUE
        ? Status.STATUS_FAILED
        : Status.STATUS_OK,
  };
}

async function rootCheck({ writeRoot }: AcceptanceDeps): Promise<Check> {
  const common = { name: 'root file system', expected: 'writable' };
  try {
    await writeRoot();
    return { ...common, found: 'writable', status: Status.STATUS_OK };
  } catch (error) {
    return { ...common, found: textOf(error), status: Status.STATUS_FAILED };
  }
}

async function readCheck(disk: BlockDevice, least: number, deps: AcceptanceDeps): Promise<Check> {
  const common = { name: `read ${disk.name}`, expected: `${least} MB/s` };
  try {
    const speed = rounded(await deps.readSpeed(disk));
    return { ...common, ...measured(speed, 'MB/s', speed >= least) };
  } catch (error) {
    return { ...common, found: textOf(error), status: Status.STATUS_FAILED };
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Writes and removes a file that nobody else has. */
export async function writeTemporary(directory: string): Promise<void> {
  const path = join(directory, `.shepherd-${randomBytes(8).toString('hex')}`);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.write('shepherd');
    await file.sync();
  } finally {
    await file.close();
    await unlink(path);
  }
}

const READ_BYTES = 256 * 1024 ** 2;
const CHUNK_BYTES = 1024 ** 2;
const READ_LIMIT_MS = 30_000;

/**
 * Speed of a sequential read of 256 MiB (or the whole disk) in MB/s, one piece after the other so
 * that others can read between. It begins at a random place, which no cache has. Node cannot align
 * its memory as direct reads need it.
 * @throws {Error} the disk cannot be read, or takes longer than 30 s.
 */
export async function readSpeed(
  path: string,
  capacityBytes: number,
  { now, random, limitMs = READ_LIMIT_MS }: ReadClock,
): Promise<number> {
  const size = Math.min(READ_BYTES, capacityBytes);
  const chunks = Math.floor((capacityBytes - size) / CHUNK_BYTES);
  const begin = Math.floor(random() * chunks) * CHUNK_BYTES;
  const buffer = Buffer.alloc(CHUNK_BYTES);
  // A read of a broken disk may hang for ever, and so may its opening.
  const opening = open(path, constants.O_RDONLY);
  const late = Promise.withResolvers<never>();
  const limit = setTimeout(
    () => late.reject(new Error(`the read took longer than ${limitMs} ms`)),
    limitMs,
  );
  let isOver = false;
  const read = async () => {
    const file = await opening;
    const startMs = now();
    let done = 0;
    while (done < size && !isOver) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, begin + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    if (done === 0) throw new Error('nothing could be read');
    return done / 1_000 / Math.max(1, now() - startMs);
  };
  try {
    return await Promise.race([read(), late.promise]);
  } finally {
    isOver = true;
    clearTimeout(limit);
    void opening.then((file) => file.close()).catch(() => undefined);
  }
}

interface ReadClock {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly limitMs?: number;
}

export interface AcceptanceLoopDeps {
  readonly run: AcceptanceRunner;
  /** Called when a result is ready. */
  readonly onResult: () => void;
}

/** Runs the newest request. Answers a repeated request with the same result. */
export function createAcceptance({ run, onResult }: AcceptanceLoopDeps) {
  let current: bigint | null = null;
  let last: AcceptanceResult | null = null;
  let result: AcceptanceResult | null = null;
  return {
    /** The result to deliver. */
    get result(): AcceptanceResult | null {
      return result;
    },
    consider(request: AcceptanceRequest, skewMs: number | null): void {
      const id = request.id ?? 0n;
      if (last?.id === id) result = last;
      // A run may hang on a broken disk for ever; a newer request takes its place.
      if (current === id || last?.id === id) return;
      current = id;
      const finish = (done: AcceptanceResult) => {
        if (current !== id) return;
        current = null;
        result = last = done;
        onResult();
      };
      const fail = (error: unknown) => {
        const status = Status.STATUS_FAILED;
        finish({
          id,
          check: [{ name: 'agent', expected: 'checks', found: textOf(error), status }],
        });
      };
      run(request, skewMs).then(finish, fail);
    },
    /** A heartbeat with this result succeeded. */
    delivered(done: AcceptanceResult): void {
      if (result === done) result = null;
    },
  };
}
