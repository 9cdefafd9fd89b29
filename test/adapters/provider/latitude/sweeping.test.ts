import { expect, test } from 'vitest';
import { bodyIn } from '../../../../src/adapters/provider/latitude/records.ts';
import {
  HOUR_MS,
  live,
  nameOf,
  OTHER_SET,
  type Stand,
  startStand,
  startWithMachine,
} from './stand.ts';

/** What the first record makes a machine run. */
async function scriptIn(stand: Stand): Promise<string | null> {
  const [record] = stand.fake.userData();
  const [shown] = await stand.api('GET', `/user_data/${record!.id}`);
  return bodyIn(shown!.attributes['content']);
}

test('vector 27: after two hours the script goes, and the tags stay; a dry run changes nothing', async () => {
  const { stand, provider, read } = await startWithMachine();
  const { tags } = await read();
  expect(await scriptIn(stand)).toContain('runcmd');
  expect(await stand.sweep(provider)).toEqual([]);
  await stand.wait(2 * HOUR_MS);
  const [record] = stand.fake.userData();
  const found = [{ kind: 'first-boot-script', id: record!.id }];
  expect(await stand.sweep(provider, true)).toEqual(found);
  expect(await scriptIn(stand)).toContain('runcmd');
  expect(await stand.sweep(provider)).toEqual(found);
  expect(await scriptIn(stand)).toBe('{}\n');
  expect((await read()).tags).toEqual(tags);
  expect(await stand.sweep(provider)).toEqual([]);
});

test('vector 27: nobody has to ask: listings take the script out, and so do tags that are written', async () => {
  const { stand, provider, reinstall, id } = await startWithMachine();
  await stand.machines(provider);
  await stand.wait(1_000);
  expect(await scriptIn(stand)).toContain('runcmd');
  await stand.wait(HOUR_MS);
  await stand.machines(provider);
  await stand.wait(1_000);
  expect(await scriptIn(stand)).toBe('{}\n');

  await stand.run(reinstall());
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'run' }, live));
  expect(await scriptIn(stand)).toContain('runcmd');
  await stand.wait(2 * HOUR_MS);
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live));
  expect(await scriptIn(stand)).toBe('{}\n');
});

test('a machine that has not come up keeps its script', async () => {
  const stand = await startStand();
  stand.fake.addFault({ effect: { type: 'deployFails' } });
  const provider = stand.fleet();
  await stand.made(provider);
  await stand.wait(2 * HOUR_MS);
  expect(await stand.sweep(provider)).toEqual([]);
});

test('records of ours without a server go after an hour; those of another set stay', async () => {
  const { stand, provider, giveBack } = await startWithMachine();
  await stand.claim(OTHER_SET, nameOf(2));
  await stand.write({ description: 'my own', content: 'eA==' });
  await stand.wait(HOUR_MS);
  await giveBack();
  const [ours] = stand.fake.userData();
  const removed = [{ kind: 'user-data', id: ours!.id }];
  expect(await stand.sweep(provider, true)).toEqual(removed);
  expect(stand.fake.userData()).toHaveLength(3);
  expect(await stand.sweep(provider)).toEqual(removed);
  expect(stand.fake.userData().map(({ description }) => description)).toEqual([
    expect.stringContaining(OTHER_SET),
    'my own',
  ]);
});

test('nothing is swept by a listing that has gaps', async () => {
  const { stand, provider, giveBack } = await startWithMachine();
  await stand.wait(HOUR_MS);
  await giveBack();
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers' },
    effect: { type: 'pages', does: 'drifting' },
  });
  expect(await stand.sweep(provider)).toEqual([]);
  expect(stand.fake.userData()).toHaveLength(1);
});
