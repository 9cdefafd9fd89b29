import { expect, test } from 'vitest';
import { bodyIn } from '../../../../src/adapters/provider/latitude/record.ts';
import { HOUR_MS, live, nameOf, OTHER_SET, slotOf, type Stand, startStand } from './stand.ts';

const contentOf = async (stand: Stand): Promise<string> => {
  const [record] = stand.fake.userData();
  const { data } = await stand.api('GET', `/user_data/${record!.id}`);
  return (data as { attributes: { content: string } }).attributes.content;
};

test('vector 27: after two hours the script goes, and the tags stay; a dry run changes nothing', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  const { tags } = await stand.run(provider.getMachine(id!, live));
  const before = await contentOf(stand);
  expect(bodyIn(before)).toContain('runcmd');
  const sweep = (dryRun: boolean) => stand.run(provider.sweep({ ...live, dryRun }));
  expect((await sweep(false)).removed).toEqual([]);
  await stand.wait(2 * HOUR_MS);
  const [record] = stand.fake.userData();
  const found = [{ kind: 'first-boot-script', id: record!.id }];
  expect((await sweep(true)).removed).toEqual(found);
  expect(await contentOf(stand)).toBe(before);
  expect((await sweep(false)).removed).toEqual(found);
  expect(bodyIn(await contentOf(stand))).toBe('{}\n');
  expect((await stand.run(provider.getMachine(id!, live))).tags).toEqual(tags);
  expect((await sweep(false)).removed).toEqual([]);
});

test('vector 27: nobody has to ask: listings take the script out, and so do tags that are written', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  await stand.run(provider.listMachines(live));
  await stand.wait(1_000);
  expect(bodyIn(await contentOf(stand))).toContain('runcmd');
  await stand.wait(HOUR_MS);
  await stand.run(provider.listMachines(live));
  await stand.wait(1_000);
  expect(bodyIn(await contentOf(stand))).toBe('{}\n');

  await stand.run(provider.reinstallMachine(id!, live));
  await stand.run(provider.setTags(id!, { 'shepherd-IdleBehavior': 'run' }, live));
  expect(bodyIn(await contentOf(stand))).toContain('runcmd');
  await stand.wait(2 * HOUR_MS);
  await stand.run(provider.setTags(id!, { 'shepherd-IdleBehavior': 'hold' }, live));
  expect(bodyIn(await contentOf(stand))).toBe('{}\n');
});

test('a machine that has not come up keeps its script', async () => {
  const stand = await startStand();
  stand.fake.addFault({ effect: { type: 'deployFails' } });
  const provider = stand.fleet();
  await stand.made(provider);
  await stand.wait(2 * HOUR_MS);
  expect((await stand.run(provider.sweep({ ...live, dryRun: false }))).removed).toEqual([]);
});

test('records of ours without a server go after an hour; those of another set stay', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  await stand.claim(OTHER_SET, nameOf(2));
  const { project } = stand.fake;
  const content = Buffer.from('#cloud-config\n{}\n').toString('base64');
  await stand.api('POST', '/user_data', { description: 'my own', content, project }, 'user_data');
  await stand.wait(HOUR_MS);
  await stand.run(provider.deprovisionMachine(id!, live));
  const [ours] = stand.fake.userData();
  const sweep = (dryRun: boolean) => stand.run(provider.sweep({ ...live, dryRun }));
  const removed = [{ kind: 'user-data', id: ours!.id }];
  expect((await sweep(true)).removed).toEqual(removed);
  expect(stand.fake.userData()).toHaveLength(3);
  expect((await sweep(false)).removed).toEqual(removed);
  expect(stand.fake.userData().map(({ description }) => description)).toEqual([
    expect.stringContaining(OTHER_SET),
    'my own',
  ]);
});

test('nothing is swept by a listing that has gaps', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  await stand.wait(HOUR_MS);
  await stand.run(provider.deprovisionMachine(id!, live));
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers' },
    effect: { type: 'pages', does: 'drifting' },
  });
  expect((await stand.run(provider.sweep({ ...live, dryRun: false }))).removed).toEqual([]);
  expect(stand.fake.userData()).toHaveLength(1);
  expect(provider.hostnameFor(slotOf(1))).toBe(nameOf(1));
});
