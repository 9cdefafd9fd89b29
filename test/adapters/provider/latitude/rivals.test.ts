import { expect, test } from 'vitest';
import { live, nameOf, SET, startStand, witnessOf } from './stand.ts';

const ORDER = 'POST /servers';

test('of two creations that begin at one moment one makes the machine, and the other has lost', async () => {
  const stand = await startStand();
  const unused = await stand.free(stand.fleet());
  const making = [1, 2].map((n) =>
    stand.fleet().createMachine({ unused, hostname: nameOf(1), witness: witnessOf(n) }, live),
  );
  const ends = await stand.run(Promise.allSettled(making));
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const lost = ends.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  expect(lost.reason).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect([stand.fake.servers().length, stand.fake.userData().length]).toEqual([1, 1]);
});

test('a rival that does not see us keeps its record, and we withdraw', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  const rival = {
    description: `shepherd ${SET} ${nameOf(1)} ${witnessOf(9)}`,
    content: Buffer.from('#cloud-config\n{}\n').toString('base64'),
    project: stand.fake.project,
  };
  stand.fake.addFault({
    match: { method: 'POST', route: '/user_data' },
    times: 1,
    effect: { type: 'latency', ms: 1_000 },
  });
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  const made = provider.createMachine(order, live).catch((error: unknown) => error);
  // Between its first look at the records and its second.
  while (!stand.sent().includes('POST /user_data')) await stand.wait(10);
  await stand.api('POST', '/user_data', rival, 'user_data');
  expect(await stand.run(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  const ours = stand.fake.userData().some(({ description }) => description.includes(witnessOf(1)));
  expect([ours, stand.count(ORDER), stand.fake.userData().length]).toEqual([false, 0, 1]);
});
