import type { BlockDevice } from '../../wire/codec.ts';
import { BlockDevice_Protocol as Protocol } from '../../wire/messages.ts';
import type { HostPrograms } from '../host-programs.ts';

const SMARTCTL = 'smartctl';
const NVME = 'nvme';

/** A disk's own health data; absent where it has none. */
export type DiskHealth = Pick<
  BlockDevice,
  'criticalWarning' | 'mediaErrors' | 'availableSpareRatio' | 'usageRatio'
>;

/**
 * Adds health data to each disk. Only programs that send the disk commands get it; without
 * `smartctl`, or `nvme` for NVMe, adds one warning. Never rejects: a disk that cannot be queried
 * stays unchanged, with a warning.
 */
export async function addHealth(
  disks: readonly BlockDevice[],
  programs: HostPrograms,
  warnings: string[],
): Promise<BlockDevice[]> {
  const unasked: string[] = [];
  const described = disks.map(async (disk) => {
    const name = disk.name ?? '';
    const program = programFor(disk, programs);
    if (program === 'none') return disk;
    if (program === null) {
      unasked.push(name);
      return disk;
    }
    try {
      return { ...disk, ...(await READERS[program](name, programs)) };
    } catch (error) {
      warnings.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return disk;
    }
  });
  const result = await Promise.all(described);
  if (unasked.length > 0) {
    warnings.push(`${unasked.join(', ')}: health is not known without smartctl or nvme`);
  }
  return result;
}

type Program = keyof typeof READERS;

/** `none`: such disks report no health. */
function programFor({ protocol }: BlockDevice, programs: HostPrograms): Program | 'none' | null {
  if (protocol === Protocol.PROTOCOL_UNKNOWN || protocol === Protocol.PROTOCOL_MMC) return 'none';
  if (programs.find(SMARTCTL)) return SMARTCTL;
  return protocol === Protocol.PROTOCOL_NVME && programs.find(NVME) ? NVME : null;
}

const READERS = {
  async [SMARTCTL](name: string, programs: HostPrograms): Promise<DiskHealth> {
    const args = ['--json=c', '--info', '--health', '--attributes', '--log=error'];
    return parseSmartctl(await programs.run(SMARTCTL, [...args, `/dev/${name}`]));
  },
  async [NVME](name: string, programs: HostPrograms): Promise<DiskHealth> {
    const args = ['smart-log', '--output-format=json', `/dev/${name}`];
    return parseNvmeSmartLog(await programs.run(NVME, args));
  },
};

/**
 * Parses `smartctl --json` for all three kinds of disks.
 * @throws {Error} the text is no JSON, or has no health data.
 */
export function parseSmartctl(text: string): DiskHealth {
  const answer = parseObject(text);
  const nvme = objectIn(answer, 'nvme_smart_health_information_log');
  if (nvme) return nvmeHealth(nvme, 'available_spare', 'percentage_used');
  const passed = objectIn(answer, 'smart_status')?.['passed'];
  const mediaErrors = ataMediaErrors(answer) ?? numberIn(answer, 'scsi_grown_defect_list');
  const used = numberIn(answer, 'scsi_percentage_used_endurance_indicator');
  if (passed === undefined && mediaErrors === null)
    throw new Error('smartctl reports no health data');
  return {
    ...(typeof passed === 'boolean' ? { criticalWarning: !passed } : {}),
    ...(mediaErrors === null ? {} : { mediaErrors: toCount(mediaErrors) }),
    ...(used === null ? {} : { usageRatio: used / 100 }),
  };
}

/** Parses `nvme smart-log`. @throws {Error} the text is no JSON. */
export const parseNvmeSmartLog = (text: string): DiskHealth =>
  nvmeHealth(parseObject(text), 'avail_spare', 'percent_used');

function nvmeHealth(log: Json, spareName: string, usedName: string): DiskHealth {
  const critical = numberIn(log, 'critical_warning');
  const errors = numberIn(log, 'media_errors');
  const [spare, used] = [numberIn(log, spareName), numberIn(log, usedName)];
  return {
    ...(critical === null ? {} : { criticalWarning: critical !== 0 }),
    ...(errors === null ? {} : { mediaErrors: toCount(errors) }),
    ...(spare === null ? {} : { availableSpareRatio: spare / 100 }),
    ...(used === null ? {} : { usageRatio: used / 100 }),
  };
}

/** Sectors that were reallocated, are pending, or were uncorrectable. */
const ATA_ERROR_ATTRIBUTES = [5, 197, 198];

function ataMediaErrors(answer: Json): number | null {
  const table = objectIn(answer, 'ata_smart_attributes')?.['table'];
  if (!Array.isArray(table)) return null;
  const rows = (table as unknown[]).filter(isObject);
  const counts = rows
    .filter(({ id }) => ATA_ERROR_ATTRIBUTES.includes(Number(id)))
    .map((row) => numberIn(objectIn(row, 'raw') ?? {}, 'value') ?? 0);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parseObject(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error('the output is not a JSON object');
  return value;
}

const objectIn = (object: Json, name: string): Json | null =>
  isObject(object[name]) ? object[name] : null;

/** Programs write numbers beyond JSON's range as text. */
function numberIn(object: Json, name: string): number | null {
  const value = object[name];
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}

const toCount = (number: number): bigint =>
  BigInt(Math.min(Math.trunc(number), Number.MAX_SAFE_INTEGER));
