import { expect, test } from 'vitest';
import {
  isSelected,
  type PoolSelector,
  mergedAddresses,
  canonicalAddress,
} from '../../../src/domain/balancing/pools.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { testRows } from '../../support/rows.ts';

const anything: PoolSelector = { providers: null, locations: null, plans: null, labels: {} };
const machine = {
  provider: providerName('rack'),
  location: 'fra',
  listed: { plan: 'c3.small', tags: { team: 'web' } },
};

test.each<
  [string, Partial<PoolSelector>, Partial<typeof machine> | { listed: null }, boolean | null]
>([
  ['nothing is asked for', {}, {}, true],
  ['nothing is asked for, and nothing is known', {}, { listed: null }, true],
  ['its provider', { providers: ['cloud', 'rack'] }, {}, true],
  ['another provider', { providers: ['cloud'] }, {}, false],
  ['its location', { locations: ['fra'] }, {}, true],
  ['another location', { locations: ['ams'] }, {}, false],
  ['a location, and its own is not told yet', { locations: ['ams'] }, { location: null! }, null],
  ['its plan', { plans: ['c3.small'] }, {}, true],
  ['a plan, and no listing shows it', { plans: ['c3.small'] }, { listed: null }, null],
  ['its label', { labels: { team: 'web' } }, {}, true],
  ['a label with another value', { labels: { team: 'db' } }, {}, false],
  ['a label that it has not', { labels: { toString: 'web' } }, {}, false],
  ['two labels, of which it has one', { labels: { team: 'web', rank: '1' } }, {}, false],
  ['a label, and no listing shows it', { labels: { team: 'web' } }, { listed: null }, null],
  [
    'what is known says no, whatever the rest is',
    { providers: ['cloud'], plans: ['c3.small'] },
    { listed: null },
    false,
  ],
])('requires for a pool: %s', (_, select, known, expected) => {
  expect(isSelected({ ...anything, ...select }, { ...machine, ...known })).toBe(expected);
});

const merged = (...balancers: readonly Record<string, readonly number[]>[]) =>
  Object.fromEntries(mergedAddresses(balancers.map((each) => new Map(Object.entries(each)))));

test('vector 26: uses only features that all balancers have', () => {
  const [one, other] = ['192.0.2.10', '2001:db8::10'];
  expect(merged({ [one]: [80, 443], [other]: [80] })).toEqual({ [one]: [80, 443], [other]: [80] });
  expect(merged({ [one]: [80, 443], [other]: [80] }, { [one]: [443], [other]: [443] })).toEqual({
    [one]: [443],
  });
  expect(merged({ [one]: [443] }, { [one]: [80, 443], [other]: [80] })).toEqual({ [one]: [443] });
  expect(merged({ [one]: [80] }, {}), 'one that fails has none').toEqual({});
  expect(merged()).toEqual({});
});

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
])('rejects %j as an address', (text) => {
  expect(canonicalAddress(text)).toBeNull();
});
