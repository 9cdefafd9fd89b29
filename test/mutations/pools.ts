import { mistakesIn, type Mutation } from './mutation.ts';

/** Pools as they are configured, shown and counted. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/config/pool-faults.ts',
    ['test/config/pools.test.ts'],
    [
      [
        'pools-may-share-an-address',
        '    const other = before.addresses.find((each) => meets(address, each));',
        '    const other = before.addresses.find(() => false);',
      ],
      ['pools-of-other-balancers-collide', '  if (balancer === undefined) return [];\n', ''],
      ['every-address-is-one-address-only', "  one === '::' ||\n", ''],
      ['uids-differ-by-their-case', 'pool.uid.toLowerCase() ===', 'pool.uid ==='],
    ],
  ),
  ...mistakesIn(
    'src/domain/balancing/pools.ts',
    ['test/domain/balancing/pools.test.ts'],
    [
      [
        'unlisted-machines-are-deselected',
        'listed === null ? null : Object.hasOwn(listed.tags, label)',
        'listed !== null && Object.hasOwn(listed.tags, label)',
      ],
      ['what-is-not-known-selects', 'answers.includes(null) ? null : true', 'true'],
    ],
  ),
  ...mistakesIn(
    'src/domain/balancing/merged-addresses.ts',
    ['test/domain/balancing/merged-addresses.test.ts'],
    [['one-balancer-is-enough-for-a-port', 'others.every(', 'others.some(']],
  ),
  ...mistakesIn(
    'src/adapters/metrics/balancing-metrics.ts',
    ['test/adapters/metrics/prom-metrics.test.ts'],
    [['a-pool-that-was-left-is-frozen-for-ever', '      frozen.remove({ ...pool });\n', '']],
  ),
  ...mistakesIn(
    'src/commands/lb/verbs.ts',
    ['test/commands/lb/verbs.test.ts'],
    [
      [
        'a-teardown-needs-no-consent',
        '  if (isTeardown && !yes) return',
        '  if (isTeardown && yes && !yes) return',
      ],
      ['a-teardown-is-over-when-it-is-filed', '    !members.some(isThere) &&\n', ''],
    ],
  ),
  ...mistakesIn(
    'src/commands/lb/forget.ts',
    ['test/commands/lb/forget.test.ts'],
    [
      [
        'a-pool-is-forgotten-that-is-configured',
        '  if (ours.length > 0) {',
        '  if (ours.length > 99) {',
      ],
      [
        'a-pool-is-forgotten-without-consent',
        'const told = yes ? await forgetAll(options, places, means) : places.map(wouldForget);',
        'const told = await forgetAll(options, places, means);',
      ],
    ],
  ),
  ...mistakesIn(
    'src/daemon/strange-pools.ts',
    ['test/daemon/strange-pools.test.ts'],
    [['a-strange-pool-is-told-of-again-and-again', '      told.add(key);\n', '']],
  ),
  ...mistakesIn(
    'src/daemon/pools-view.ts',
    ['test/daemon/pools-view.test.ts'],
    [['nobody-hears-of-members', '      if (others.length > 0) memberChanges.next();\n', '']],
  ),
];
