import { expect, test } from 'vitest';
import { bindLabels, desiredOf } from '../../../src/domain/balancing/desired.ts';
import { desired, hashHex, M1, M2, M3, nameOf, pool } from './pool.ts';

test('two ports, two addresses and two members give 2 backends, 2 frontends, 4 binds and 4 servers', () => {
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

test('builds a bind from an address and the external port, and a server from an address and the internal port', () => {
  const specs = new Map(desired().map(({ spec }) => [spec.name, spec]));
  expect(specs.get('v6.https.api.eu')).toEqual({
    kind: 'bind',
    name: 'v6.https.api.eu',
    address: '2001:db8::10',
    number: 443,
  });
  expect(specs.get(nameOf(M1, 'http'))).toMatchObject({ address: '10.0.0.1', number: 42_037 });
});

test('names further addresses of a family by their value', () => {
  const labels = bindLabels(['192.0.2.10', '2001:db8::10', '192.0.2.11'], hashHex);
  expect([...labels.values()]).toEqual(['v4', 'v6', `v4-${hashHex('192.0.2.11').slice(0, 8)}`]);
});

test('vector 17: serves the lowest id of machines that share an address and reports the others', () => {
  const shared = [M3, M1, M2].map((machineId) => ({ machineId, address: '10.0.0.9' }));
  const { objects, leftOut } = desiredOf(pool(), shared, hashHex);
  expect(objects.filter(({ machineId }) => machineId).map(({ machineId }) => machineId)).toEqual([
    M1,
    M1,
  ]);
  expect([...leftOut.keys()]).toEqual([M3, M2]);
  expect(leftOut.get(M2)).toBe(`machine ${M1} has the same address, 10.0.0.9`);
});

test('leaves out a machine without a known address and keeps the others', () => {
  const members = [
    { machineId: M1, address: null },
    { machineId: M2, address: '10.0.0.2' },
  ];
  const { objects, leftOut } = desiredOf(pool(), members, hashHex);
  expect(objects.filter(({ machineId }) => machineId === M2)).toHaveLength(2);
  expect([...leftOut.keys()]).toEqual([M1]);
});
