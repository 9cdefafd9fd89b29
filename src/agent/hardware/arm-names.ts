/** Who makes arm64 cores, by the number in their main id register. */
const IMPLEMENTERS = new Map([
  [0x41, 'ARM'],
  [0x42, 'Broadcom'],
  [0x43, 'Cavium'],
  [0x46, 'Fujitsu'],
  [0x48, 'HiSilicon'],
  [0x4e, 'NVIDIA'],
  [0x50, 'APM'],
  [0x51, 'Qualcomm'],
  [0x61, 'Apple'],
  [0x6d, 'Microsoft'],
  [0xc0, 'Ampere'],
]);

/** Cores that servers have, by implementer and part. */
const PARTS = new Map([
  ['41 d03', 'Cortex-A53'],
  ['41 d08', 'Cortex-A72'],
  ['41 d0b', 'Cortex-A76'],
  ['41 d0c', 'Neoverse-N1'],
  ['41 d40', 'Neoverse-V1'],
  ['41 d49', 'Neoverse-N2'],
  ['41 d4f', 'Neoverse-V2'],
  ['41 d8e', 'Neoverse-N3'],
  ['43 af', 'ThunderX2'],
  ['46 1', 'A64FX'],
  ['48 d01', 'TaiShan v110'],
  ['4e 4', 'Carmel'],
  ['c0 ac3', 'Ampere-1'],
  ['c0 ac4', 'Ampere-1a'],
]);

const hex = (number: number) => number.toString(16);

/** The maker's name, or its number where that is all we know. */
export const armVendor = (implementer: number): string =>
  IMPLEMENTERS.get(implementer) ?? `0x${hex(implementer)}`;

/** The core's name, or its part number where that is all we know. */
export const armModel = (implementer: number, part: number): string =>
  PARTS.get(`${hex(implementer)} ${hex(part)}`) ?? `0x${hex(part)}`;
