import { expect, test } from 'vitest';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { clientOf, KEY, start } from './harness.ts';

const id = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';

testRows([
  [{ reservations: 'many' }, /at reservations/],
  [{ reservations: -3 }, /at reservations\[0\]\.count/],
  [{ reservations: [{}, { plan: 7 }] }, /at reservations\[1\]\.plan/],
  [{ projects: [{ name: '' }], unknown: 1 }, /unknown.*at projects\[0\]\.name/],
  [{ reservations: [{ plan: 'none' }] }, /no plan none/],
  [{ reservations: [{ facility: 'xx1' }] }, /no facility xx1/],
  [{ reservations: [{ project: 'none' }] }, /no project none/],
  [{ reservations: [{ id }, { id }] }, /two reservations are/],
  [{ devices: [{ hostname: 'a', reservation: id }] }, /no reservation/],
  [
    {
      reservations: [{ id }],
      devices: [
        { hostname: 'a', reservation: id },
        { hostname: 'b', reservation: id },
      ],
    },
    /not a free one/,
  ],
  [{ keys: [{ label: 'x', key: 'nonsense' }] }, /the key x is not an OpenSSH public key/],
] as const)('refuses %j with %j', async (input, message) => {
  const started = (async () => start({ world: parseWorld(input) }))();
  await expect(started).rejects.toThrow(message);
});

test('makes the world that the options describe', async () => {
  const world = parseWorld({
    projects: [{ id, name: 'fleet-a' }],
    plans: [{ slug: 'own.plan' }],
    metros: [{ code: 'zz' }],
    facilities: [{ code: 'zz1', metro: 'zz' }],
    reservations: [
      { id: id.replace('4', '5'), plan: 'own.plan', facility: 'zz1' },
      { count: 3, spare: true },
    ],
    devices: [{ hostname: 'old', reservation: id.replace('4', '5'), tags: ['a'] }],
    keys: [{ label: 'fleet', key: KEY }],
  });
  const fake = await start({ world });
  expect([fake.projectId, fake.reservations().length]).toEqual([id, 4]);
  const { body } = await clientOf(fake)('GET', `/devices/${fake.devices()[0]!.id}?include=metro`);
  expect(body).toMatchObject({
    ...{ hostname: 'old', state: 'active', tags: ['a'] },
    ...{ plan: { slug: 'own.plan' }, metro: { code: 'zz' } },
  });
  expect(fake.violations()).toEqual([]);
});
