import { stringify } from 'yaml';
import { expect, test } from 'vitest';
import { ownBalancerSettingsOf, parseConfig, poolsOf } from '../../src/config.ts';
import { env, minimal } from './examples.ts';
import { pooled, shelves } from './pooled.ts';

test('reads no pools from a configuration without pools', () => {
  const config = parseConfig(minimal(), { env });
  expect(config).toMatchObject({ fleet: 'shepherd', balancers: {}, pools: {} });
  expect(poolsOf(config)).toEqual([]);
});

test('reads pools with their defaults, and addresses in one form', async () => {
  const config = parseConfig(pooled(), { env }, { balancers: shelves });
  await expect(stringify(poolsOf(config))).toMatchFileSnapshot('pools.txt');
  expect(ownBalancerSettingsOf(config.balancers['edge']!)).toEqual({ door: 'a' });
});
