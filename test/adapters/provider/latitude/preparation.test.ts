import { expect, test } from 'vitest';
import { fingerprintOfLine } from '../../../../src/adapters/kit/public-key.ts';
import { explain } from '../../../../src/domain/errors.ts';
import { KEY, live, type Stand, startStand } from './stand.ts';
import { publicKeyLine } from '../driver-stand.ts';

const keysOf = async (stand: Stand) =>
  (
    (await stand.api('GET', '/ssh_keys')).data as {
      attributes: { name: string; public_key: string };
    }[]
  ).map(({ attributes }) => attributes);
const storeKey = (stand: Stand, name: string, line: string) =>
  stand.api(
    'POST',
    '/ssh_keys',
    { name, public_key: line, project: stand.fake.project },
    'ssh_keys',
  );

test('our key is put in place once, without its comment', async () => {
  const stand = await startStand();
  await stand.run(stand.fleet().prepare(live));
  await stand.run(stand.fleet().prepare(live));
  const blob = KEY.split(' ').slice(0, 2).join(' ');
  expect(await keysOf(stand)).toMatchObject([{ name: 'shepherd', public_key: blob }]);
  expect(stand.count('POST /ssh_keys')).toBe(1);
});

test('vector 29: a key of our name that is another one is a conflict, and nothing is written', async () => {
  const stand = await startStand();
  await storeKey(stand, 'shepherd', publicKeyLine(2));
  const seq = stand.lastSeq();
  await expect(stand.run(stand.fleet().prepare(live))).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringMatching(/ssh\.previousKeyPaths.*another sshKeyName/),
  });
  expect(stand.changes(seq)).toEqual([]);
});

test('stores the current key beside an earlier one of ours, which stays as it is', async () => {
  const stand = await startStand();
  const earlier = publicKeyLine(2);
  await storeKey(stand, 'shepherd', earlier);
  const provider = stand.fleet({ previousKeys: [earlier] });
  await stand.run(provider.prepare(live));
  await stand.run(provider.prepare(live));
  expect((await keysOf(stand)).map((key) => fingerprintOfLine(key.public_key))).toEqual(
    expect.arrayContaining([earlier, KEY].map(fingerprintOfLine)),
  );
  expect(stand.count('POST /ssh_keys')).toBe(2);
});

test('our key under another name is used as it is', async () => {
  const stand = await startStand();
  await storeKey(stand, 'from-before', KEY);
  await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toHaveLength(1);
});

test('a key whose storing was not answered is looked for, and stored once', async () => {
  const stand = await startStand();
  stand.fake.addFault({
    match: { method: 'POST', route: '/ssh_keys' },
    times: 1,
    effect: { type: 'drop', phase: 'after' },
  });
  await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toHaveLength(1);
  expect(stand.count('POST /ssh_keys')).toBe(1);
});

test('vector 3: hourly in a reserved project is refused, and yearly in one on demand', async () => {
  const stand = await startStand();
  const { reservedProject: project } = stand.fake;
  const prepare = (settings: object) => stand.run(stand.fleet({ settings }).prepare(live));
  await expect(prepare({ project })).rejects.toMatchObject({ kind: 'invalid' });
  await expect(prepare({ billing: 'yearly' })).rejects.toMatchObject({ kind: 'invalid' });
  await prepare({ billing: 'monthly' });
  await prepare({ project, billing: 'yearly' });
  expect(stand.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('paid monthly in advance'),
  );
});

test('a system that there is not, and a project that the key does not show, are named', async () => {
  const stand = await startStand();
  const fault = (settings: object) =>
    stand.run(stand.fleet({ settings }).prepare(live)).then(
      () => 'prepared',
      (error: unknown) => explain(error),
    );
  expect(await fault({ os: 'plan9_4' })).toContain('plan9_4');
  expect(await fault({ project: 'proj_NotThere' })).toContain('proj_NotThere');
});

test.each([401, 403] as const)(
  'a key that is refused (%i) is not shown again for a minute',
  async (code) => {
    const stand = await startStand();
    const provider = stand.fleet();
    stand.fake.addFault({ effect: { type: 'status', code } });
    const list = () => stand.run(provider.listMachines(live));
    await expect(list()).rejects.toMatchObject({ kind: 'auth' });
    stand.fake.clearFaults();
    const seq = stand.lastSeq();
    await expect(list()).rejects.toMatchObject({ kind: 'auth' });
    expect(stand.sent(seq)).toEqual([]);
    await stand.wait(61_000);
    expect((await list()).complete).toBe(true);
  },
);
