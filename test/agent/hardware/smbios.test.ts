import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseEntryPoint, parseSmbios } from '../../../src/agent/hardware/smbios.ts';
import {
  bios,
  end,
  entryPoint,
  entryPoint3,
  memory,
  oldBios,
  product,
  structure,
} from './smbios-fixture.ts';
import { testRows } from '../../support/rows.ts';

const MIB = 1024n * 1024n;
const V24 = { major: 2, minor: 4 };
const V27 = { major: 2, minor: 7 };
const V32 = { major: 3, minor: 2 };
const DRAM = 3;

describe('smbios', () => {
  test('reads product and serial number from the strings of type 1', () => {
    const table = Buffer.concat([bios(0), product('ACME', ' Anvil 3 ', 'S1'), end()]);
    expect(parseSmbios(table, V32)).toEqual({
      product: { manufacturer: 'ACME', product: 'Anvil 3', serialNumber: 'S1' },
      uefi: false,
      memoryBytes: 0n,
      isDamaged: false,
    });
  });

  test('reads a missing string as empty', () => {
    const { product: names } = parseSmbios(Buffer.concat([product('ACME'), end()]), V32);
    expect(names).toEqual({ manufacturer: 'ACME', product: '', serialNumber: '' });
  });

  testRows([
    ['says so', bios(1 << 3), V32, true],
    ['says no', bios(0xf7), V32, false],
    ['is too old to say', bios(1 << 3), { major: 2, minor: 1 }, null],
    ['has no extension bytes', oldBios(), V32, null],
    ['has no version', bios(1 << 3), null, true],
  ])('UEFI: firmware that %s', (_name, table, version, uefi) => {
    expect(parseSmbios(table, version).uefi).toBe(uefi);
  });

  testRows([
    ['MiB', memory(4096, { technology: DRAM }), V32, 4096n * MIB],
    ['KiB', memory(0x8000 | 512, { technology: DRAM }), V32, MIB / 2n],
    ['an empty slot', memory(0, { technology: DRAM }), V32, 0n],
    ['an unknown size', memory(0xffff, { technology: DRAM }), V32, 0n],
    [
      'an extended size',
      memory(0x7fff, { extended: 0x8001_0000, technology: DRAM }),
      V32,
      65_536n * MIB,
    ],
    [
      'an extended size in 2.7',
      memory(0x7fff, { extended: 65_536, length: 0x22 }),
      V27,
      65_536n * MIB,
    ],
    ['the same before 2.7', memory(0x7fff, { extended: 65_536, length: 0x22 }), V24, 32_767n * MIB],
    ['too short for it', memory(0x7fff, { length: 0x15 }), V27, 32_767n * MIB],
    ['persistent memory from 3.2 on', memory(4096, { technology: 7 }), V32, 0n],
    ['the same before 3.2', memory(4096, { technology: 7 }), V27, 4096n * MIB],
    ['no version', memory(0x7fff, { extended: 65_536, technology: DRAM }), null, 65_536n * MIB],
    ['too short for a size', structure(17, Buffer.alloc(4)), V32, 0n],
  ])('memory: %s', (_name, device, version, bytes) => {
    expect(parseSmbios(Buffer.concat([device, end()]), version).memoryBytes).toBe(bytes);
  });

  test('counts all memory devices', () => {
    const dimm = memory(16_384, { technology: DRAM });
    const table = Buffer.concat([dimm, memory(0), dimm, end(), dimm]);
    expect(parseSmbios(table, V32).memoryBytes).toBe(32_768n * MIB);
  });

  test('reads truncated tables up to their end', () => {
    const whole = Buffer.concat([product('ACME', 'A', 'S'), memory(1024, { technology: DRAM })]);
    expect(parseSmbios(whole, V32)).toMatchObject({ memoryBytes: 1024n * MIB, isDamaged: false });
    const cut = parseSmbios(whole.subarray(0, -20), V32);
    expect(cut).toMatchObject({ product: { serialNumber: 'S' }, isDamaged: true });
    expect(cut.memoryBytes).toBe(0n);
  });

  test('answers and ends, whatever the bytes', () => {
    const pieces = fc.constantFrom(
      bios(8),
      product('a', 'b', 'c'),
      memory(0x7fff, { extended: 9 }),
      end(),
      Buffer.alloc(3),
    );
    const tables = fc
      .tuple(fc.array(pieces, { maxLength: 6 }), fc.uint8Array({ maxLength: 64 }), fc.nat(400))
      .map(([parts, noise, at]) => {
        const table = Buffer.concat(parts);
        return Buffer.concat([table.subarray(0, at), noise, table.subarray(at)]);
      });
    const versions = fc.option(fc.record({ major: fc.nat(255), minor: fc.nat(255) }));
    fc.assert(
      fc.property(
        fc.oneof(tables, fc.uint8Array({ maxLength: 300 })),
        versions,
        (table, version) => {
          const answer = parseSmbios(table, version);
          expect(answer.memoryBytes).toBeGreaterThanOrEqual(0n);
          expect(typeof answer.isDamaged).toBe('boolean');
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('reads the version from entry points of both forms', () => {
    expect(parseEntryPoint(entryPoint(2, 8))).toEqual({ major: 2, minor: 8 });
    expect(parseEntryPoint(entryPoint3(3, 4))).toEqual({ major: 3, minor: 4 });
    for (const other of [Buffer.alloc(0), Buffer.from('_SM3_'), Buffer.from('ROM!........')]) {
      expect(parseEntryPoint(other)).toBeNull();
    }
  });
});
