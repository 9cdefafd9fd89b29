import { expect, test } from 'vitest';
import { bareKey } from '../../../../src/adapters/driver-kit/our-key.ts';
import { faultAt, KEY, live, type Stand, startStand } from './stand.ts';
import { publicKeyLine } from '../driver-stand.ts';

const keysOf = async (stand: Stand) =>
  (await stand.api('GET', '/ssh_keys')).map(({ attributes }) => attributes);
const storeKey = ({ api, fake: { project } }: Stand, name: string, public_key: string) =>
  api('POST', '/ssh_keys', { name, public_key, project }, 'ssh_keys');

test('our key is put in place once, without its comment, also if the answer is lost', async () => {
  const stand = await startStand();
  stand.fake.addFault(faultAt('POST /ssh_keys', { type: 'drop', phase: 'after' }));
  for (let n = 0; n < 2; n++) await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toMatchObject([{ name: 'shepherd', public_key: bareKey(KEY) }]);
  expect(stand.count('POST /ssh_keys')).toBe(1);
});

test('vector 29: a key of our name that is another one is a conflict, and nothing is written', async () => {
  const stand = await startStand();
  await storeKey(stand, 'shepherd', publicKeyLine(2));
  const seq = stand.lastSeq();
  const message = expect.stringMatching(/ssh\.previousKeyPaths.*another sshKeyName/);
  await stand.fails(stand.fleet().prepare(live), { kind: 'conflict', message });
  expect(stand.changes(seq)).toEqual([]);
});

test('stores the current key beside an earlier one of ours, which stays as it is', async () => {
  const stand = await startStand();
  const earlier = publicKeyLine(2);
  await storeKey(stand, 'shepherd', earlier);
  const provider = stand.fleet({ previousKeys: [earlier] });
  await stand.run(provider.prepare(live));
  await stand.run(provider.prepare(live));
  const stored = (await keysOf(stand)).map((key) => bareKey(key['public_key']!));
  expect(stored).toEqual([bareKey(earlier), bareKey(KEY)]);
  expect(stand.count('POST /ssh_keys')).toBe(2);
});

test('our key under another name is used as it is', async () => {
  const stand = await startStand();
  await storeKey(stand, 'from-before', KEY);
  await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toHaveLength(1);
});

test('vector 3: hourly in a reserved project is refused, and yearly in one on demand', async () => {
  const stand = await startStand();
  const { reservedProject: project } = stand.fake;
  const prepare = (settings: object) => stand.fleet({ settings }).prepare(live);
  await stand.fails(prepare({ project }), { kind: 'invalid' });
  await stand.fails(prepare({ billing: 'yearly' }), { kind: 'invalid' });
  await stand.run(prepare({ billing: 'monthly' }));
  await stand.run(prepare({ project, billing: 'yearly' }));
  expect(stand.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('paid monthly in advance'),
  );
});

test('a system that there is not, and a project that the key does not show, are named', async () => {
  const stand = await startStand();
  for (const [setting, name] of Object.entries({ os: 'plan9_4', project: 'proj_NotThere' })) {
    const provider = stand.fleet({ settings: { [setting]: name } });
    const message = expect.stringContaining(name);
    await stand.fails(provider.prepare(live), { message });
  }
});

test.each([401, 403] as const)(
  'a key that is refused (%i) is not shown again for a minute',
  async (code) => {
    const stand = await startStand();
    const provider = stand.fleet();
    stand.fake.addFault({ effect: { type: 'status', code } });
    await stand.fails(provider.listMachines(live), { kind: 'auth' });
    stand.fake.clearFaults();
    const seq = stand.lastSeq();
    await stand.fails(provider.listMachines(live), { kind: 'auth' });
    expect(stand.sent(seq)).toEqual([]);
    await stand.wait(61_000);
    expect(await stand.machines(provider)).toHaveLength(2);
  },
);
