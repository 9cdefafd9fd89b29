/** The used parts of a machine's SMBIOS tables. */
export interface Smbios {
  /** Type 1; null: none. */
  readonly product: {
    readonly manufacturer: string;
    readonly product: string;
    readonly serialNumber: string;
  } | null;
  /** Type 0: whether the firmware supports UEFI; null: unknown. */
  readonly uefi: boolean | null;
  /** Type 17: sum of the memory devices; 0: none. */
  readonly memoryBytes: bigint;
  /** Whether the tables end early or hold an impossible structure. */
  readonly isDamaged: boolean;
}

/** The specification version of the tables. */
export interface SmbiosVersion {
  readonly major: number;
  readonly minor: number;
}

interface Structure {
  readonly type: number;
  /** From the type byte up to the strings. */
  readonly data: Buffer;
  /** Numbered from 1. */
  readonly strings: readonly string[];
}

const HEADER_BYTES = 4;
const MIB = 1024n * 1024n;
const KIB = 1024n;

/**
 * Parses tables of DSP0134. Without a version, the length of a structure determines its contents.
 * Never throws: damage ends the parsing, and the data before it counts.
 */
export function parseSmbios(table: Uint8Array, version: SmbiosVersion | null): Smbios {
  const { structures, isDamaged } = readStructures(Buffer.from(table));
  const ofType = (type: number) => structures.filter((each) => each.type === type);
  const [system] = ofType(1);
  const [bios] = ofType(0);
  const sizes = ofType(17).map((device) => memoryDeviceBytes(device, version));
  return {
    product: system ? readProduct(system) : null,
    uefi: bios ? readUefi(bios, version) : null,
    memoryBytes: sizes.reduce((sum, size) => sum + size, 0n),
    isDamaged,
  };
}

/** The version in an entry point of either form; null: it is neither. */
export function parseEntryPoint(bytes: Uint8Array): SmbiosVersion | null {
  const anchor = Buffer.from(bytes).toString('latin1', 0, 5);
  const at = anchor === '_SM3_' ? 7 : anchor.startsWith('_SM_') ? 6 : null;
  const [major, minor] = at === null ? [] : bytes.subarray(at, at + 2);
  return major === undefined || minor === undefined ? null : { major, minor };
}

const END_OF_TABLE = 127;

function readStructures(table: Buffer): { structures: Structure[]; isDamaged: boolean } {
  const structures: Structure[] = [];
  let at = 0;
  while (at < table.length) {
    const length = table[at + 1] ?? 0;
    const textAt = at + length;
    if (length < HEADER_BYTES || textAt > table.length) return { structures, isDamaged: true };
    const textEnd = table.indexOf('\0\0', textAt, 'latin1');
    const type = table[at]!;
    structures.push({
      type,
      data: table.subarray(at, textAt),
      strings: readStrings(table.subarray(textAt, textEnd < 0 ? table.length : textEnd)),
    });
    if (type === END_OF_TABLE) return { structures, isDamaged: false };
    if (textEnd < 0) return { structures, isDamaged: true };
    at = textEnd + 2;
  }
  return { structures, isDamaged: false };
}

const readStrings = (bytes: Buffer): string[] =>
  bytes.length === 0 ? [] : bytes.toString('latin1').split('\0');

/** The string whose number is at `at`; empty: none. */
function textAt({ data, strings }: Structure, at: number): string {
  const number = data[at] ?? 0;
  return (strings[number - 1] ?? '').trim();
}

const readProduct = (system: Structure) => ({
  manufacturer: textAt(system, 0x04),
  product: textAt(system, 0x05),
  serialNumber: textAt(system, 0x07),
});

const UEFI_BIT = 1 << 3;

/** BIOS characteristics extension byte 2. */
function readUefi({ data }: Structure, version: SmbiosVersion | null): boolean | null {
  const extension = isFrom(version, 2, 2) ? data[0x13] : undefined;
  return extension === undefined ? null : (extension & UEFI_BIT) !== 0;
}

const SIZE_UNKNOWN = 0xffff;
const SIZE_EXTENDED = 0x7fff;
const IN_KIB = 0x8000;
const TECHNOLOGY_DRAM = 0x03;

function memoryDeviceBytes({ data }: Structure, version: SmbiosVersion | null): bigint {
  if (data.length < 0x0e) return 0n;
  const technology = isFrom(version, 3, 2) ? data[0x28] : undefined;
  if (technology !== undefined && technology !== TECHNOLOGY_DRAM) return 0n;
  const size = data.readUInt16LE(0x0c);
  if (size === 0 || size === SIZE_UNKNOWN) return 0n;
  if (size === SIZE_EXTENDED && isFrom(version, 2, 7) && data.length >= 0x20) {
    return BigInt(data.readUInt32LE(0x1c) & 0x7fff_ffff) * MIB;
  }
  return BigInt(size & 0x7fff) * ((size & IN_KIB) === 0 ? MIB : KIB);
}

/** Without a version, only the length of a structure decides. */
const isFrom = (version: SmbiosVersion | null, major: number, minor: number): boolean =>
  version === null || version.major > major || (version.major === major && version.minor >= minor);
