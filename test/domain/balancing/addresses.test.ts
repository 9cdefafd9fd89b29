import { expect, test } from 'vitest';
import { canonicalAddress, familyOf } from '../../../src/domain/balancing/pools.ts';
import { testRows } from '../../support/rows.ts';

testRows([
  ['192.0.2.10', '192.0.2.10'],
  ['0.0.0.0', '0.0.0.0'],
  ['2001:DB8:0::10', '2001:db8::10'],
  ['2001:db8:0:0:0:0:0:10', '2001:db8::10'],
  ['::FFFF:192.0.2.10', '192.0.2.10'],
  ['::ffff:c000:20a', '192.0.2.10'],
  ['::', '::'],
])('writes %s as %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
  expect(canonicalAddress(canonical)).toBe(canonical);
});

testRows([
  '',
  'm1',
  '010.0.0.1',
  '192.0.2',
  '192.0.2.256',
  '3221225994',
  '0x7f.0.0.1',
  ' 192.0.2.10',
  '192.0.2.10:80',
  '[2001:db8::10]',
  '[2001:db8::10]:80',
  'fe80::1%eth0',
  '2001:db8::10::1',
  ':::',
  '1:2:3:4:5:6:7:8:9',
  '::1]/[::2',
])('%j is no address', (text) => {
  expect(canonicalAddress(text)).toBeNull();
});

test('an address belongs to one family', () => {
  expect(['192.0.2.10', '2001:db8::10'].map(familyOf)).toEqual(['ipv4', 'ipv6']);
});
