import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  WireError,
  hardwareReportCodec,
  heartbeatRequestCodec,
  takeoverInitCodec,
} from '../../src/wire/codec.ts';
import { fieldsOf, hasAtMostFields } from '../../src/wire/fields.ts';
import { heartbeatRequests } from './arbitraries.ts';
import { testRows } from '../support/rows.ts';

const from = (hex: string) => Buffer.from(hex, 'hex');

describe('wire fields', () => {
  test('put together again they are the message', () => {
    fc.assert(
      fc.property(heartbeatRequests, (message) => {
        const bytes = heartbeatRequestCodec.encode(message);
        const parts = [...fieldsOf(bytes)].map(({ raw }) => raw);
        expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
      }),
    );
  });

  test('only length-delimited fields have a content', () => {
    const fields = [...fieldsOf(from('0a0161' + '1005' + '1d01020304'))];
    expect(fields.map(({ number, content }) => [number, content])).toEqual([
      [1, from('61')],
      [2, null],
      [3, null],
    ]);
  });

  testRows([
    ['field number 0', '0000'],
    ['a group', '0b0c'],
    ['an end of a group', '0c'],
    ['a length beyond the end', '0a05'],
    ['a wire type that does not exist', '0f'],
    ['a number without end', '08ffff'],
  ])('refuses %s', (_name, hex) => {
    expect(() => [...fieldsOf(from(hex))]).toThrow(WireError);
  });

  test('counts what is nested and packed, where the shape says so', () => {
    const report = { networkInterface: [{ supportedSpeedBytes: [1n, 2n, 300n] }], product: 'x' };
    const bytes = hardwareReportCodec.encode({ report });
    // The report, its product and interface, the field of the speeds, the three of them.
    const shape = { 1: { 12: { 3: 'packed' } } } as const;
    expect(hasAtMostFields(bytes, shape, 7)).toBe(true);
    expect(hasAtMostFields(bytes, shape, 6)).toBe(false);
    expect(hasAtMostFields(bytes, {}, 1)).toBe(true);
  });

  test('text is not taken for a message', () => {
    const bytes = takeoverInitCodec.encode({ machineId: 'aaaa' });
    expect(hasAtMostFields(bytes, {}, 1)).toBe(true);
  });
});
