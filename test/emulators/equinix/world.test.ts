import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseWorld, readWorldFile, WorldError } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { clientOf, KEY, start } from './harness.ts';

function problems(input: unknown): readonly string[] {
  try {
    parseWorld(input);
  } catch (error) {
    if (error instanceof WorldError) return error.problems;
    throw error;
  }
  return [];
}

const id = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';

testRows([
  [{ reservations: 'many' }, 'reservations: '],
  [{ reservations: [{}, { plan: 7 }] }, 'reservations[1].plan: '],
  [{ reservations: [{ plan: 'none' }] }, 'reservations[0].plan: unknown plan "none"'],
  [{ reservations: [{ facility: 'xx1' }] }, 'reservations[0].facility: unknown facility "xx1"'],
  [{ reservations: [{ project: 'none' }] }, 'reservations[0].project: unknown project "none"'],
  [{ reservations: [{ id }, { id }] }, 'reservations[1].id: appears twice'],
  [{ reservations: [{ id, count: 2 }] }, 'reservations[0].count: '],
  [{ projects: [{ name: 'a', organization: 'b' }] }, 'projects[0].organization: unknown'],
  [{ devices: [{ hostname: 'a_b' }] }, 'devices[0].hostname: '],
  [{ devices: [{ hostname: 'a', reservation: id }] }, 'devices[0].reservation: no reservation'],
  [{ keys: [{ label: 'x', key: 'nonsense' }] }, 'keys[0].key: '],
  [{ tokens: [{ token: 'long-enough', scope: 'root' }] }, 'tokens[0].scope: '],
  [{ facilities: [{ code: 'zz1', metro: 'zz' }] }, 'facilities[0].metro: unknown metro "zz"'],
  [{ unknown: 1 }, '(top): '],
  [[], '(top): '],
  [
    { projects: [{ name: '' }], reservations: [{ plan: 1 }, { spare: 'x' }] },
    'projects[0].name: ',
    'reservations[0].plan: ',
    'reservations[1].spare: ',
  ],
] as [unknown, ...string[]][])('refuses %j at each place', (input, ...starts) => {
  expect(problems(input).map((one, n) => one.slice(0, starts[n]?.length))).toEqual(starts);
});

test('makes what it says', async () => {
  const world = parseWorld({
    organizations: [{ name: 'ours' }],
    projects: [{ id, name: 'fleet-a', organization: 'ours' }],
    tokens: [{ token: 'a-known-token', scope: 'user' }],
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
  expect([fake.projectId, fake.tokens.user]).toEqual([id, 'a-known-token']);
  expect(fake.tokens.project).toMatch(/^project-/);
  expect(fake.reservations()).toHaveLength(4);
  const { body } = await clientOf(fake)('GET', `/devices/${fake.devices()[0]!.id}?include=metro`);
  expect(body).toMatchObject({
    hostname: 'old',
    state: 'active',
    plan: { slug: 'own.plan' },
    metro: { code: 'zz' },
  });
  expect(body['ip_addresses']).toHaveLength(3);
  expect(fake.violations()).toEqual([]);
});

test('reads YAML or JSON', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, 'world.yaml');
  await writeFile(path, 'projects:\n  - name: fleet-a\nreservations: 3\n');
  const fake = await start({ worldFile: path });
  expect(fake.reservations()).toHaveLength(3);
  await writeFile(path, '{"reservations": 4}');
  expect((await readWorldFile(path)).reservations).toBe(4);
  await writeFile(path, 'reservations: [');
  await expect(readWorldFile(path)).rejects.toThrow(`${path}: is neither YAML nor JSON`);
  await expect(readWorldFile(join(directory, 'none'))).rejects.toThrow('cannot be read');
  await writeFile(path, 'reservations: -3');
  await expect(start({ worldFile: path })).rejects.toThrow(`${path}: reservations`);
});
