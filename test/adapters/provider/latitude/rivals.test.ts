import { expect, test } from 'vitest';
import { faultAt, live, nameOf, SET, startStand } from './stand.ts';

const ORDER = 'POST /servers';

test.each([
  { seed: 1, isSmaller: true },
  { seed: 2, isSmaller: false },
])(
  'withdraws before a rival that does not see us; its id is the smaller one: $isSmaller',
  async (of) => {
    const stand = await startStand({ seed: of.seed });
    const provider = stand.fleet();
    const order = await stand.orderFor(provider);
    stand.fake.addFault(faultAt('POST /user_data', { type: 'latency', ms: 1_000 }));
    const made = provider.createMachine(order, live).catch((error: unknown) => error);
    // Between its first look at the records and its second.
    while (!stand.sent().includes('POST /user_data')) await stand.wait(10);
    const theirs = await stand.claim(SET, nameOf(1));
    expect(await stand.run(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
    expect(stand.fake.userData().map(({ id }) => id)).toEqual([theirs]);
    expect(stand.count(ORDER)).toBe(0);
    const removed = stand.fake.requests().find(({ method }) => method === 'DELETE')!.path;
    expect(`/user_data/${theirs}` < removed).toBe(of.isSmaller);
  },
);

test('F4: of two daemons that want the same slots one makes each machine, and the other has lost', async () => {
  const stand = await startStand();
  const daemons = [stand.fleet({ daemons: 2 }), stand.fleet({ daemons: 2 })];
  const wanted = daemons.flatMap((daemon, d) => [1, 2].map((slot) => ({ daemon, d, slot })));
  const orders = await Promise.all(
    wanted.map(({ daemon, d, slot }) => stand.orderFor(daemon, { slot, n: 10 * d + slot })),
  );
  const making = wanted.map(({ daemon }, n) => daemon.createMachine(orders[n]!, live));
  const ends = await stand.run(Promise.allSettled(making));
  const lost = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  const raceLost = { kind: 'race-lost', outcome: 'not-done' };
  expect(lost).toMatchObject([raceLost, raceLost]);
  const names = stand.fake.servers().map(({ hostname }) => hostname);
  expect(names.toSorted()).toEqual([nameOf(1), nameOf(2)].toSorted());
  expect(stand.fake.userData()).toHaveLength(2);
});
