import { expect, test } from 'vitest';
import { mergedAddresses } from '../../../src/domain/balancing/pools.ts';

const merged = (...balancers: readonly Record<string, readonly number[]>[]) =>
  Object.fromEntries(mergedAddresses(balancers.map((each) => new Map(Object.entries(each)))));

test('vector 26: of several balancers only what all of them have counts', () => {
  const [one, other] = ['192.0.2.10', '2001:db8::10'];
  expect(merged({ [one]: [80, 443], [other]: [80] })).toEqual({ [one]: [80, 443], [other]: [80] });
  expect(merged({ [one]: [80, 443], [other]: [80] }, { [one]: [443], [other]: [443] })).toEqual({
    [one]: [443],
  });
  expect(merged({ [one]: [443] }, { [one]: [80, 443], [other]: [80] })).toEqual({ [one]: [443] });
  expect(merged({ [one]: [80] }, {}), 'one that fails has none').toEqual({});
  expect(merged()).toEqual({});
});
