import { expect, test } from 'vitest';
import type { LatitudeFaultRule } from '../../../../emulators/latitude/api.ts';
import { NOTHING_TO_RUN, writeRecord } from '../../../../src/adapters/provider/latitude/records.ts';
import type { FleetCreateRequest } from '../../../../src/adapters/provider/port.ts';
import { explain } from '../../../../src/domain/errors.ts';
import {
  faultAt,
  live,
  nameOf,
  OTHER_SET,
  slotOf,
  startStand,
  witnessOf,
  SET,
  PREFIX,
  startWithMachine,
  type LatitudeStand,
} from './stand.ts';

const ORDER = 'POST /servers';
type RuleEffect = LatitudeFaultRule['effect'];

/** A creation on the first slot, and its announcements. */
async function creating(
  stand: LatitudeStand,
  change: Partial<FleetCreateRequest> & { readonly n?: number } = {},
) {
  const provider = stand.fleet();
  const announced: object[] = [];
  const onAttempt = async (progress: object) => void announced.push(progress);
  const order = await stand.orderFor(provider, { onAttempt, ...change });
  const begunMs = stand.clock.now();
  return {
    ...{ announced, provider },
    tookMs: () => stand.clock.now() - begunMs,
    made: stand.run(provider.createMachine(order, live)),
  };
}
test('vector 4: looks, writes the record, announces and orders one server as configured', async () => {
  const stand = await startStand({}, { raid: 'raid-1' });
  const provider = stand.fleet();
  await stand.run(provider.prepare(live));
  const announced: string[][] = [];
  const onAttempt = async () => void announced.push(stand.changes(seq));
  const order = await stand.orderFor(provider, { onAttempt });
  const seq = stand.lastSeq();
  const machine = await stand.run(provider.createMachine(order, live));
  expect(stand.sent(seq)[0]).toBe('GET /servers');
  expect(stand.changes(seq)).toEqual(['POST /user_data', ORDER]);
  expect(announced).toEqual([['POST /user_data']]);
  expect(machine).toMatchObject({ reservationId: slotOf(1), status: 'Provisioning' });
  expect(stand.fake.servers()).toMatchObject([
    {
      ...{ id: machine.id, hostname: nameOf(1), plan: 'c3-small-x86', site: 'ASH' },
      ...{ billing: 'hourly', raid: 'raid-1', operatingSystem: 'ubuntu_24_04_x64_lts' },
      sshKeys: [expect.anything()],
    },
  ]);
  const [listed] = await stand.machines(provider);
  expect(listed).toMatchObject({ id: machine.id, ownership: 'ours', tags: machine.tags });
  expect(machine.tags['shepherd-op']).toBe(witnessOf(1));
});

test.each<[string, RuleEffect, number]>([
  ['vector 5: the answer is lost', { type: 'drop', phase: 'after' }, 0],
  ['vector 5: half of the answer comes', { type: 'drop', phase: 'midBody' }, 0],
  ['vector 5: 502, though it was done', { type: 'status', code: 502, executed: true }, 0],
  ['vector 5: the list shows it a minute late', { type: 'drop', phase: 'after' }, 60_000],
  ['vector 7: 201 with a page in HTML', { type: 'garbage', kind: 'html' }, 0],
  ['vector 7: 201 with half a document', { type: 'garbage', kind: 'truncated' }, 0],
])('%s: finds the server by its name, and orders once', async (_, effect, listLagMs) => {
  const stand = await startStand();
  stand.fake.addFault(faultAt(ORDER, effect));
  stand.fake.addFault({ effect: { type: 'listLag', ms: listLagMs } });
  // Vector 31: a name that returns in capitals is the same name. A longer name is another one.
  stand.fake.addFault({ effect: { type: 'upperCaseNames' } });
  stand.fake.addFault({ effect: { type: 'hostnameFilter' } });
  stand.stranger(`${nameOf(1)}-2`);
  const { made, announced, provider, tookMs } = await creating(stand);
  const machine = await made;
  expect(stand.fake.servers()).toMatchObject([{}, { id: machine.id }]);
  expect(stand.count(ORDER)).toBe(1);
  expect(announced).toEqual([{ attempts: 1, ambiguous: false }]);
  expect(machine).toMatchObject({ ownership: 'ours', hostname: nameOf(1) });
  expect(tookMs()).toBeGreaterThanOrEqual(listLagMs);
  await stand.wait(listLagMs);
  expect((await stand.machines(provider))[0]).toMatchObject({
    ...{ id: machine.id, reservationId: slotOf(1) },
  });
});

test('vector 6: does not repeat an order that was never executed until the next call', async () => {
  const stand = await startStand();
  stand.fake.addFault(faultAt(ORDER, { type: 'drop', phase: 'before' }));
  const first = await creating(stand);
  await expect(first.made).rejects.toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(first.tookMs()).toBeGreaterThanOrEqual(120_000);
  expect(stand.count(ORDER)).toBe(1);
  expect(stand.fake.userData()).toHaveLength(1);
  await stand.wait(120_000);

  const second = await creating(stand, { resumed: true });
  const machine = await second.made;
  expect(stand.count(ORDER)).toBe(2);
  expect(second.announced).toEqual([{ attempts: 1, ambiguous: true }]);
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id }]);
  expect(stand.fake.userData()).toHaveLength(1);
});

const status = (code: number, ...errors: object[]): RuleEffect => ({
  type: 'status',
  code,
  body: { errors },
});
const tooMany = (seconds: number) =>
  status(429, { code: 'RATE_LIMIT_EXCEEDED', meta: { retry_after: seconds } });

interface FailedOrder {
  readonly effect: RuleEffect;
  /** The affected request, usually the order. */
  readonly line?: string;
  readonly error: object;
  /** A part of the message. */
  readonly text?: string;
}
const FAILED_ORDERS: Readonly<Record<string, FailedOrder>> = {
  'vector 8: nothing is in stock: the plan is held': {
    effect: { type: 'stockOut' },
    error: { kind: 'transient', capacity: { scope: 'plan' } },
  },
  'vector 9: a field that is missing is named by its pointer': {
    effect: status(422, {
      ...{ code: 'INVALID', status: '422', detail: 'must be filled' },
      source: { pointer: '/data/attributes/plan' },
    }),
    error: { kind: 'invalid' },
    text: 'at /data/attributes/plan must be filled',
  },
  'a limit that a record breaks is no quota of machines': {
    effect: status(422, { code: 'VALIDATION', detail: 'content exceeds the limit of 4096' }),
    line: 'POST /user_data',
    error: { kind: 'invalid' },
    text: '4096',
  },
  'a key that is refused, and is there, is something else, and is not tried again': {
    effect: status(422, {
      ...{ detail: 'could not be found', source: { pointer: '/data/attributes/ssh_keys' } },
    }),
    error: { kind: 'invalid' },
  },
  // A message with the words of both a limit and a stock means the limit.
  'a team that has all that it may have is at its quota': {
    effect: status(422, { detail: 'No capacity is available within the limit of this team' }),
    error: { kind: 'transient', quota: true },
  },
  'vector 10: a wait that is longer than anybody waits is told': {
    effect: tooMany(1_800),
    error: { kind: 'transient', rateLimit: { retryAt: expect.any(Date) } },
  },
  'an API that keeps less of a description than it was given is refused': {
    effect: { type: 'cut', field: 'description', length: 40 },
    line: 'POST /user_data',
    error: { kind: 'invalid' },
  },
  'an API that keeps less of a content than it was given is refused': {
    effect: { type: 'cut', field: 'content', length: 40 },
    line: 'POST /user_data',
    error: { kind: 'invalid' },
  },
};
test.each(Object.entries(FAILED_ORDERS))('%s; nothing is left', async (_, failed) => {
  const { effect, line = ORDER, error: expected, text = '' } = failed;
  const stand = await startStand();
  stand.fake.addFault(faultAt(line, effect));
  const { made } = await creating(stand);
  const error: unknown = await made.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ ...expected, outcome: 'not-done' });
  for (const facet of ['quota', 'capacity'].filter((name) => !(name in expected))) {
    expect(error).not.toHaveProperty(facet);
  }
  expect(explain(error)).toContain(text);
  expect(stand.count(line)).toBe(1);
  expect([stand.fake.userData(), stand.fake.servers()]).toEqual([[], []]);
});

test('vector 10: sends the order again a minute after a 429, and reads meanwhile', async () => {
  const stand = await startStand();
  stand.fake.addFault(faultAt(ORDER, tooMany(60)));
  const provider = stand.fleet();
  let announced = 0;
  const order = await stand.orderFor(provider, { onAttempt: async () => void announced++ });
  const making = provider.createMachine(order, live);
  await stand.wait(1_000);
  const beganMs = stand.clock.now();
  await stand.machines(provider);
  expect(stand.clock.now() - beganMs).toBeLessThan(5_000);
  expect(stand.count(ORDER)).toBe(1);
  await stand.run(making);
  expect(stand.clock.now() - beganMs).toBeGreaterThanOrEqual(59_000);
  expect([stand.count(ORDER), announced]).toEqual([2, 2]);
});

test('vector 11: waits when killed after the record was made, and orders with a new secret in it', async () => {
  const stand = await startStand();
  const { unused } = await stand.abandon();
  const [record] = stand.fake.userData();
  const before = await stand.api('GET', `/user_data/${record!.id}`);
  const { made, tookMs } = await creating(stand, { resumed: true, unused });
  const machine = await made;
  expect(tookMs()).toBeGreaterThanOrEqual(120_000);
  expect(stand.fake.userData().map(({ id }) => id)).toEqual([record!.id]);
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id, userData: record!.id }]);
  const after = await stand.api('GET', `/user_data/${record!.id}`);
  expect(after).not.toEqual(before);
});

test('vector 13: loses the race to a foreign server with the name, and touches nothing', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  const ids = [stand.stranger(nameOf(1))];
  const seq = stand.lastSeq();
  const lost = { kind: 'race-lost', outcome: 'not-done' };
  await stand.fails(provider.createMachine(order, live), lost);
  expect(stand.changes(seq)).toEqual([]);
  // Both servers of one name are reported.
  ids.push(stand.stranger(nameOf(1)));
  for (const id of ids) {
    const message = expect.stringContaining(id);
    await stand.fails(provider.createMachine(order, live), { kind: 'conflict', message });
  }
});

test('loses the race to a young record of another creation, and removes an old one first', async () => {
  const stand = await startStand();
  const { unused } = await stand.abandon();
  const [old] = stand.fake.userData();
  const other = { n: 2, unused };
  const young = (await creating(stand, other)).made;
  await expect(young).rejects.toMatchObject({ kind: 'race-lost' });
  expect(stand.fake.userData()).toMatchObject([{ id: old!.id }]);
  await stand.wait(120_000);
  const machine = await (await creating(stand, other)).made;
  expect(machine.tags['shepherd-op']).toBe(witnessOf(2));
  const [left, ...more] = stand.fake.userData();
  expect([more, left!.id === old!.id]).toEqual([[], false]);
});

test('keeps a record of another set, whatever its age', async () => {
  const stand = await startStand();
  const theirs = await stand.claim(OTHER_SET, nameOf(1));
  await stand.wait(600_000);
  const { made } = await creating(stand);
  await made;
  expect(stand.fake.userData().map(({ id }) => id)).toContain(theirs);
});

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
    // Between the first and the second read of the records.
    while (!stand.sent().includes('POST /user_data')) await stand.wait(10);
    const theirs = await stand.claim(SET, nameOf(1));
    expect(await stand.run(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
    expect(stand.fake.userData().map(({ id }) => id)).toEqual([theirs]);
    expect(stand.count(ORDER)).toBe(0);
    const removed = stand.fake.requests().find(({ method }) => method === 'DELETE')!.path;
    expect(`/user_data/${theirs}` < removed).toBe(of.isSmaller);
  },
);

test('F4: makes each machine by one of two daemons that compete for the slots', async () => {
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

test('keeps a record that a creation resumes while others are swept', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  for (const n of [1, 2, 3]) {
    const hostname = `${PREFIX}ash-aaaaaaa${n}`;
    const tags = { 'shepherd-InstanceSetID': SET };
    const mark = { set: SET, hostname, witness: '-', tags, t: stand.clock.now(), slot: '' };
    await stand.write(writeRecord(mark, NOTHING_TO_RUN));
  }
  stand.fake.addFault(faultAt('POST /servers', { type: 'drop', phase: 'before' }));
  await stand.fails(provider.createMachine(order, live), { outcome: 'unknown' });
  await stand.wait(3_700_000);
  const sweeper = stand.fleet({ settings: { writesPerMinute: 1 } });
  const sweeping = sweeper.sweep({ ...live, dryRun: false });
  const making = provider.createMachine({ ...order, resumed: true }, live);
  const [machine] = await stand.run(Promise.all([making, sweeping]));
  expect(stand.fake.userData()).toHaveLength(1);
  const seen = await stand.run(provider.getMachine(machine.id!, live));
  expect(seen.ownership).toBe('ours');
});

test('removes a record even if no request is left for the moment', async () => {
  const stand = await startStand({}, { writesPerMinute: 3 });
  const provider = stand.fleet();
  await stand.run(provider.prepare(live));
  const order = await stand.orderFor(provider);
  stand.fake.addFault(faultAt('POST /servers', { type: 'stockOut' }));
  await stand.fails(provider.createMachine(order, live), { capacity: { scope: 'plan' } });
  expect(stand.fake.userData()).toEqual([]);
});

test('schedules a deletion at the end of the cycle also for a server that takes no action', async () => {
  const { stand, giveBack } = await startWithMachine({ onDeprovision: 'schedule' });
  stand.fake.addFault(faultAt('POST /servers/{id}/actions', { type: 'status', code: 422 }));
  await giveBack().catch(() => null);
  expect(stand.count('POST /servers/{id}/schedule_deletion')).toBe(1);
});

test('keeps tags that were written meanwhile when it removes a script late', async () => {
  const stand = await startStand();
  const other = stand.fleet();
  const first = await stand.made(other, 1);
  const second = await stand.made(other, 2);
  await stand.wait(3_600_000);
  const slow = stand.fleet({ settings: { writesPerMinute: 1 } });
  await stand.run(slow.setTags(second.id!, { 'shepherd-IdleBehavior': 'hold' }, live));
  await stand.run(slow.listMachines(live));
  await stand.wait(5_000);
  await stand.run(other.setTags(first.id!, { 'shepherd-IdleBehavior': 'hold' }, live));
  await stand.wait(180_000);
  const { tags } = await stand.run(other.getMachine(first.id!, live));
  expect(tags['shepherd-IdleBehavior']).toBe('hold');
});
