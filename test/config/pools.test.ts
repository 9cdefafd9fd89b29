import { expect, test } from 'vitest';
import { z } from 'zod';
import type { BalancerDriver } from '../../src/adapters/balancer/port.ts';
import { ownBalancerSettingsOf, parseConfig, poolsOf } from '../../src/config.ts';
import { UsageError } from '../../src/domain/errors.ts';
import * as leaf from '../../src/settings/leaves.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { env, minimal, withValue } from './examples.ts';
import { testRows } from '../support/rows.ts';

const shelf: BalancerDriver<{ door: string }> = {
  name: 'shelf',
  settings: () => z.strictObject({ door: leaf.text('Where it is reached.') }),
  open: () => {
    throw new Error('not opened');
  },
  overlaps: (one, other) => (one.door === other.door ? 'door' : null),
};
const drivers = driverTable([shelf as BalancerDriver]);

/** Two pools on one balancer, and one that is alone on another. */
const example = () => ({
  ...minimal(),
  fleet: 'eu',
  balancers: { edge: { driver: 'shelf', door: 'a' }, inner: { driver: 'shelf', door: 'b' } },
  pools: {
    api: {
      balancers: ['edge'],
      addresses: ['192.0.2.10', '2001:DB8:0::10'],
      ports: { http: { external: 80, internal: 42037 }, https: { external: 443, internal: 37042 } },
      select: { providers: ['equinix'] },
    },
    web: {
      balancers: ['inner', 'edge'],
      addresses: ['192.0.2.10'],
      ports: { http: { external: 8080, internal: 8080, check: { http: '/healthz' } } },
      select: {},
    },
  },
});
const parse = (input: unknown) => parseConfig(input, { env }, { balancers: drivers });
const changed = (path: string, value: unknown) => parse(withValue(path, value, example()));
function complaint(path: string, value: unknown): string {
  try {
    changed(path, value);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

test('a configuration without pools has none', () => {
  const config = parseConfig(minimal(), { env });
  expect(config).toMatchObject({ fleet: 'shepherd', balancers: {}, pools: {} });
  expect(poolsOf(config)).toEqual([]);
});

test('pools are read with their defaults, and addresses in one form', () => {
  const config = parse(example());
  expect(poolsOf(config)).toEqual([
    {
      pool: 'api',
      uid: 'api.eu',
      suffix: 'api.eu',
      balancers: ['edge'],
      addresses: ['192.0.2.10', '2001:db8::10'],
      ports: [
        { name: 'http', external: 80, internal: 42037, check: { by: 'tcp' } },
        { name: 'https', external: 443, internal: 37042, check: { by: 'tcp' } },
      ],
      select: { providers: ['equinix'], locations: null, plans: null, labels: {} },
      memberStates: ['Running'],
      drain: { graceMs: 30_000, policy: 'require', waitMs: 600_000, atOnce: 1 },
      minActive: 1,
      warmUpMs: 120_000,
    },
    expect.objectContaining({
      pool: 'web',
      uid: 'web.eu',
      ports: [
        { name: 'http', external: 8080, internal: 8080, check: { by: 'http', path: '/healthz' } },
      ],
      select: { providers: null, locations: null, plans: null, labels: {} },
    }),
  ]);
  expect(ownBalancerSettingsOf(config.balancers['edge']!)).toEqual({ door: 'a' });
});

test.each<[string, unknown, string]>([
  ['fleet', 'eu.west', 'fleet is "eu.west"; give a name of letters, digits and -'],
  ['fleet', '', 'fleet is ""; give a name'],
  ['balancers', [], 'balancers is not a section; give balancers by their names'],
  ['balancers.Edge', { driver: 'shelf', door: 'c' }, 'balancers.Edge is no name for a balancer'],
  ['balancers.edge.driver', 'f5', 'names no driver that exists; give one of shelf'],
  ['balancers.edge.door', undefined, 'balancers.edge.door is missing; give a text'],
  ['balancers.edge.colour', 'red', 'balancers.edge.colour is not known; known here: door, driver'],
  ['pools.The_API', {}, 'pools.The_API is no name for a pool'],
  ['pools.api.balancers', [], 'pools.api.balancers is empty; give at least one'],
  ['pools.api.balancers', undefined, 'pools.api.balancers is missing; give a list of balancers'],
  ['pools.api.balancers', ['edge', 'edge'], 'pools.api.balancers has "edge" twice'],
  ['pools.api.uid', 'api eu', 'pools.api.uid is "api eu"; give a text of letters'],
  ['pools.api.addresses', undefined, 'pools.api.addresses is missing; give a list of IP addresses'],
  ['pools.api.addresses', [], 'pools.api.addresses is empty; give at least one'],
  ['pools.api.addresses', ['lb.example.net'], 'is "lb.example.net"; give an IP address'],
  ['pools.api.addresses', ['192.0.2.010'], 'is "192.0.2.010"; give an IP address'],
  ['pools.api.addresses', ['192.0.2.10:80'], 'is "192.0.2.10:80"; give an IP address'],
  ['pools.api.addresses', ['2001:db8::1', '2001:DB8:0:0::1'], 'has "2001:db8::1" twice'],
  ['pools.api.addresses', ['192.0.2.1', '::ffff:192.0.2.1'], 'has "192.0.2.1" twice'],
  ['pools.api.ports', undefined, 'pools.api.ports is missing; give at least one port'],
  ['pools.api.ports', {}, 'pools.api.ports is empty; give at least one port'],
  ['pools.api.ports', { '': { external: 1, internal: 1 } }, 'is no name for a port'],
  ['pools.api.ports', { 'a.b': { external: 1, internal: 1 } }, 'is no name for a port'],
  ['pools.api.ports', { 'a b': { external: 1, internal: 1 } }, 'is no name for a port'],
  ['pools.api.ports.http.external', 0, 'ports.http.external is 0; give a whole number from 1'],
  ['pools.api.ports.http.internal', 65_536, 'ports.http.internal is 65536; give a whole number'],
  ['pools.api.ports.http.check', 'udp', 'ports.http.check is "udp"; give tcp, or { http: /path }'],
  ['pools.api.ports.http.check', { http: 'healthz' }, 'give tcp, or { http: /path }'],
  ['pools.api.ports.http.check', { http: '/a b' }, 'give tcp, or { http: /path }'],
  ['pools.api.select', undefined, 'pools.api.select is missing; say which machines serve here'],
  ['pools.api.select.providers', [], 'pools.api.select.providers is empty'],
  ['pools.api.select.labels', { team: 7 }, 'pools.api.select.labels.team is 7; give a text'],
  ['pools.api.memberStates', ['Reserved'], 'is "Reserved"; give one of Running, HandedOver'],
  ['pools.api.memberStates', [], 'pools.api.memberStates is empty'],
  ['pools.api.drain.grace', '6m', 'pools.api.drain.grace is too long; give at most 5m'],
  ['pools.api.drain.policy', 'hope', 'give one of require, best-effort'],
  ['pools.api.drain.atOnce', 0, 'pools.api.drain.atOnce is 0; give a whole number from 1'],
  ['pools.api.minActive', -1, 'pools.api.minActive is -1; give a whole number'],
  ['pools.api.warmUp', '0s', 'pools.api.warmUp is "0s"; give a duration of at least 1s'],
])('%s: %j is refused', (path, value, expected) => {
  expect(complaint(path, value)).toContain(expected);
});

const NO_PATHS = [
  '/a#b',
  '/"a"',
  "/it's",
  '/a\\b',
  '/100%',
  '/$HOME',
  '/[a]',
  `/${'a'.repeat(201)}`,
];
testRows(NO_PATHS)('a balancer cannot be told to ask for %s', (http) => {
  expect(complaint('pools.api.ports.http.check', { http })).toMatch(
    /pools\.api\.ports\.http\.check is .*; give tcp, or \{ http: \/path \}, a path of letters/,
  );
});

/** What two places contradict each other in: the message names both. */
test.each<[string, string, unknown, string]>([
  [
    'a balancer that there is not',
    'pools.api.balancers',
    ['edge', 'edgy'],
    'pools.api.balancers names "edgy", but balancers has edge, inner;',
  ],
  [
    'a provider that there is not',
    'pools.api.select.providers',
    ['metal'],
    'pools.api.select.providers names "metal", but providers has equinix;',
  ],
  [
    'two ports of a pool with one number',
    'pools.api.ports.https.external',
    80,
    'pools.api.ports.https.external is 80, as pools.api.ports.http.external is;',
  ],
  [
    'two pools at one address and port of a balancer',
    'pools.web.ports.http.external',
    443,
    'pools.web.ports.http.external is 443 at 192.0.2.10, which pools.api.ports.https.external is too, both on balancer edge;',
  ],
  [
    'one with an uid like that of another',
    'pools.web.uid',
    'API.eu',
    'pools.web.uid is API.eu, as that of pools.api is;',
  ],
  [
    'two balancers that are one',
    'balancers.inner.door',
    'a',
    'balancers.inner.door leads to the balancer that balancers.edge.door leads to;',
  ],
])('%s is refused, with both places named', (_, path, value, expected) => {
  const message = complaint(path, value);
  expect(message).toContain(expected);
  expect(message.split('\n')[0]).toBe('the configuration has 1 mistake:');
});

testRows([
  ['0.0.0.0', true],
  ['::', true],
  ['2001:db8:0:0::10', true],
  ['192.0.2.11', false],
  ['2001:db8::11', false],
])('port 80 of another pool at %s is refused: %s', (address, isRefused) => {
  const input = withValue('pools.web.ports.http.external', 80, example());
  const elsewhere = withValue('pools.web.addresses', [address], input);
  if (!isRefused) return expect(() => parse(elsewhere)).not.toThrow();
  return expect(() => parse(elsewhere)).toThrow('both on balancer edge');
});

test('pools of different balancers may have the same address and port', () => {
  const input = withValue('pools.web.balancers', ['inner'], example());
  expect(() => parse(withValue('pools.web.ports.http.external', 80, input))).not.toThrow();
});

test('what pools contradict each other in is told together with everything else', () => {
  const input = withValue('pools.web.ports.http.external', 443, example());
  withValue('log.level', 'loud', input);
  withValue('pools.api.warmUp', 'soon', input);
  expect(() => parse(input)).toThrow(/has 3 mistakes:[^]*pools\.web\.ports\.http\.external is 443/);
});
