import { stringify } from 'yaml';
import { expect, test } from 'vitest';
import { ownBalancerSettingsOf, parseConfig, poolsOf } from '../../src/config.ts';
import { env, minimal } from './examples.ts';
import { pooled, shelves } from './pooled.ts';

test('a configuration without pools has none', () => {
  const config = parseConfig(minimal(), { env });
  expect(config).toMatchObject({ fleet: 'shepherd', balancers: {}, pools: {} });
  expect(poolsOf(config)).toEqual([]);
});

test('pools are read with their defaults, and addresses in one form', async () => {
  const config = parseConfig(pooled(), { env }, { balancers: shelves });
  await expect(stringify(poolsOf(config))).toMatchFileSnapshot('pools.txt');
  expect(ownBalancerSettingsOf(config.balancers['edge']!)).toEqual({ door: 'a' });
});
