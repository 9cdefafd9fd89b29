/** One structure of SMBIOS tables. Strings are numbered from 1. */
export function structure(type: number, formatted: Uint8Array, strings: string[] = []): Buffer {
  const head = Buffer.from([type, 4 + formatted.length, 0x34, 0x12]);
  const texts = strings.map((text) => Buffer.from(`${text}\0`, 'latin1'));
  const end = Buffer.alloc(strings.length === 0 ? 2 : 1);
  return Buffer.concat([head, formatted, ...texts, end]);
}

/** Bytes at their offsets from the start of the structure, the rest zero. */
function formatted(length: number, fields: Record<number, number | Uint8Array>): Buffer {
  const bytes = Buffer.alloc(length);
  for (const [offset, value] of Object.entries(fields)) {
    bytes.set(typeof value === 'number' ? [value] : value, Number(offset));
  }
  return bytes.subarray(4);
}

const word = (value: number) => Uint8Array.of(value & 0xff, value >> 8);
const dword = (value: number) => new Uint8Array(Uint32Array.of(value).buffer);

export const bios = (extension2: number) => structure(0, formatted(0x18, { 0x13: extension2 }));
/** The form before 2.1: without extension bytes. */
export const oldBios = () => structure(0, formatted(0x12, {}));
export const product = (...strings: string[]) =>
  structure(1, formatted(0x1b, { 0x04: 1, 0x05: 2, 0x07: 3 }), strings);
export const end = () => structure(127, Buffer.alloc(0));

/** A memory device; `length` as in its version of the specification. */
export const memory = (
  size: number,
  { extended = 0, technology = 0, length = 0x54 } = {},
): Buffer =>
  structure(
    17,
    formatted(length, {
      0x0c: word(size),
      ...(length >= 0x22 ? { 0x1c: dword(extended) } : {}),
      ...(length >= 0x29 ? { 0x28: technology } : {}),
    }),
    ['DIMM 0'],
  );

/** Entry points of the old form, and of the 64-bit form. */
export const entryPoint = (major: number, minor: number): Buffer =>
  Buffer.concat([Buffer.from('_SM_'), Buffer.from([0, 0x1f, major, minor]), Buffer.alloc(23)]);
export const entryPoint3 = (major: number, minor: number): Buffer =>
  Buffer.concat([Buffer.from('_SM3_'), Buffer.from([0, 0x18, major, minor]), Buffer.alloc(15)]);
