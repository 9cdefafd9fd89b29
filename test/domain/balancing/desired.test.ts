import { expect, test } from 'vitest';
import { bindLabels, desiredOf } from '../../../src/domain/balancing/desired.ts';
import { desired, hashHex, M1, M2, M3, nameOf, pool } from './pool.ts';

test('two ports, two addresses, two members: 2 backends, 2 frontends, 4 binds, 4 servers', () => {
  expect(desired().map(({ spec }) => `${spec.kind} ${spec.name}`)).toEqual([
    'backend http.api.eu',
    'backend https.api.eu',
    'frontend http.api.eu',
    'frontend https.api.eu',
    'bind v4.http.api.eu',
    'bind v6.http.api.eu',
    'bind v4.https.api.eu',
    'bind v6.https.api.eu',
    `server ${nameOf(M1, 'http')}`,
    `server ${nameOf(M2, 'http')}`,
    `server ${nameOf(M1, 'https')}`,
    `server ${nameOf(M2, 'https')}`,
  ]);
});

test('a bind is an address and the external port, a server an address and the internal one', () => {
  const specs = new Map(desired().map(({ spec }) => [spec.name, spec]));
  expect(specs.get('v6.https.api.eu')).toEqual({
    kind: 'bind',
    name: 'v6.https.api.eu',
    address: '2001:db8::10',
    number: 443,
  });
  expect(specs.get(nameOf(M1, 'http'))).toMatchObject({ address: '10.0.0.1', number: 42_037 });
});

test('further addresses of a family are named by what they are', () => {
  const labels = bindLabels(['192.0.2.10', '2001:db8::10', '192.0.2.11'], hashHex);
  expect([...labels.values()]).toEqual(['v4', 'v6', `v4-${hashHex('192.0.2.11').slice(0, 8)}`]);
});

test('vector 17: of machines that share an address the lowest id is served, the other is told why', () => {
  const shared = [M3, M1, M2].map((machineId) => ({ machineId, address: '10.0.0.9' }));
  const { objects, leftOut } = desiredOf(pool(), shared, hashHex);
  expect(objects.filter(({ machineId }) => machineId).map(({ machineId }) => machineId)).toEqual([
    M1,
    M1,
  ]);
  expect([...leftOut.keys()]).toEqual([M3, M2]);
  expect(leftOut.get(M2)).toBe(`machine ${M1} has the same address, 10.0.0.9`);
});

test('a machine whose address is not known is left out, the others are not', () => {
  const members = [
    { machineId: M1, address: null },
    { machineId: M2, address: '10.0.0.2' },
  ];
  const { objects, leftOut } = desiredOf(pool(), members, hashHex);
  expect(objects.filter(({ machineId }) => machineId === M2)).toHaveLength(2);
  expect([...leftOut.keys()]).toEqual([M1]);
});
