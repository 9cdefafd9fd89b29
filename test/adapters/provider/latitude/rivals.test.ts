import { expect, test } from 'vitest';
import { faultAt, live, nameOf, SET, startStand, witnessOf } from './stand.ts';

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
  const order = await stand.orderFor(provider);
  stand.fake.addFault(faultAt('POST /user_data', { type: 'latency', ms: 1_000 }));
  const made = provider.createMachine(order, live).catch((error: unknown) => error);
  // Between its first look at the records and its second.
  while (!stand.sent().includes('POST /user_data')) await stand.wait(10);
  await stand.claim(SET, nameOf(1));
  expect(await stand.run(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  const ours = stand.fake.userData().some(({ description }) => description.includes(witnessOf(1)));
  expect([ours, stand.count(ORDER), stand.fake.userData().length]).toEqual([false, 0, 1]);
});

test('F4: two daemons that want the same slots: never two servers on one, and in the end one on each', async () => {
  const stand = await startStand();
  const daemons = [stand.fleet({ daemons: 2 }), stand.fleet({ daemons: 2 })];
  const unused = await Promise.all([stand.free(daemons[0]!, 1), stand.free(daemons[0]!, 2)]);
  const names = [nameOf(1), nameOf(2)];
  const wants = (round: number) =>
    daemons.flatMap((daemon, d) =>
      unused.map((slot, n) =>
        daemon.createMachine(
          { unused: slot, hostname: names[n]!, witness: witnessOf(100 * round + 10 * d + n) },
          live,
        ),
      ),
    );
  const outcomes = await stand.run(Promise.allSettled(wants(1)));
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  for (const reason of refused) {
    expect(reason).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  }
  expect(refused.length).toBeGreaterThanOrEqual(2);
  const perName = () =>
    names.map((name) => stand.fake.servers().filter((one) => one.hostname === name).length);
  expect(Math.max(...perName())).toBeLessThanOrEqual(1);
  await stand.wait(120_000);
  // One after the other now, as the rows of the database have it.
  for (const [n, slot] of unused.entries()) {
    const order = { unused: slot, hostname: names[n]!, witness: witnessOf(500 + n) };
    const [outcome] = await stand.run(Promise.allSettled([daemons[1]!.createMachine(order, live)]));
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'race-lost' });
  }
  expect(perName()).toEqual([1, 1]);
  expect(stand.fake.userData()).toHaveLength(2);
});
