import { expect, test } from 'vitest';
import { newEnds } from '../../../../src/adapters/balancer/haproxy/tables.ts';
import { parse } from '../../../../src/adapters/balancer/haproxy/pool-file.ts';
import { OWNER } from './stand.ts';

const running = (name: string, address: string) => ({
  backends: new Map(),
  frontends: new Map([[name, new Map([['v4', { address, number: 80 }]])]]),
});

test.each([
  ['0.0.0.0', 'http.api.eu', '[::]:80', false],
  ['::', 'http.api.eu', '0.0.0.0:80', false],
  ['0.0.0.0', 'http.api.eu', '192.0.2.1:80', false],
  ['192.0.2.1', 'http.api.eu', '192.0.2.1:80', false],
  ['192.0.2.1', 'http.api.eu', '192.0.2.2:80', true],
  ['0.0.0.0', 'http.api.eu', '[::]:81', true],
  ['0.0.0.0', 'http.web.eu', '[::]:80', true],
] as const)(
  'while HAProxy has %s port 80 for %s, judges %s as new: %s',
  (address, name, end, isNew) => {
    const file = parse(`backend a\nfrontend a\n  bind ${end} name v6\n`);
    const pools = [{ owner: OWNER, file }];
    expect(newEnds(pools, running(name, address))).toHaveLength(isNew ? 1 : 0);
  },
);
