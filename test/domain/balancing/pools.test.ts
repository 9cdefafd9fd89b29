import { expect, test } from 'vitest';
import { isSelected, type PoolSelector } from '../../../src/domain/balancing/pools.ts';
import { providerName } from '../../../src/domain/ids.ts';

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
])('a pool asks for %s', (_, select, known, expected) => {
  expect(isSelected({ ...anything, ...select }, { ...machine, ...known })).toBe(expected);
});
