import { expect, test } from 'vitest';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { explain } from '../../../../src/domain/errors.ts';
import type { FaultRule } from '../../../../src/simulator/fakelatitude/fault-rules.ts';
import { live, nameOf, OTHER_SET, slotOf, type Stand, startStand, witnessOf } from './stand.ts';

const ORDER = 'POST /servers';
const onOrder = (effect: FaultRule['effect']): FaultRule => ({
  match: { method: 'POST', route: '/servers' },
  times: 1,
  effect,
});

/** A creation on the first slot, and what has been announced of it. */
async function creating(
  stand: Stand,
  more: { resumed?: boolean; n?: number; unused?: ProviderMachine } = {},
) {
  const provider = stand.fleet();
  const { unused = await stand.free(provider) } = more;
  const announced: object[] = [];
  const onAttempt = async (progress: object) => void announced.push(progress);
  const { n = 1, resumed = false } = more;
  const order = { unused, hostname: nameOf(1), witness: witnessOf(n), resumed, onAttempt };
  const seq = stand.lastSeq();
  const begunMs = stand.clock.now();
  return {
    announced,
    provider,
    seq,
    tookMs: () => stand.clock.now() - begunMs,
    made: stand.run(provider.createMachine(order, live)),
  };
}

test('vector 2: an empty project shows its slots as free', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const listing = await stand.run(provider.listMachines(live));
  expect(listing.complete).toBe(true);
  expect(listing.machines).toMatchObject([
    { id: null, reservationId: slotOf(1), availability: 'KnownUnused', location: 'ASH' },
    { id: null, reservationId: slotOf(2), availability: 'KnownUnused', location: 'ASH' },
  ]);
  expect(provider.hostnameFor(slotOf(1))).toBe(nameOf(1));
});

test('vector 4: a look, the record, the announcement, the order: one server, with its tags', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  await stand.run(provider.prepare(live));
  const unused = await stand.free(provider);
  const seq = stand.lastSeq();
  const announced: string[][] = [];
  const onAttempt = async () => void announced.push(stand.sent(seq));
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1), onAttempt };
  const machine = await stand.run(provider.createMachine(order, live));
  const changes = stand.sent(seq).filter((line) => !line.startsWith('GET'));
  expect(changes).toEqual(['POST /user_data', ORDER]);
  expect(stand.sent(seq)[0]).toBe('GET /servers');
  expect(announced).toEqual([expect.arrayContaining(['POST /user_data'])]);
  expect(announced[0]).not.toContain(ORDER);
  expect(machine).toMatchObject({ reservationId: slotOf(1), status: 'Provisioning' });
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id, hostname: nameOf(1) }]);
  const { machines } = await stand.run(provider.listMachines(live));
  const listed = machines.find(({ id }) => id === machine.id);
  expect(listed).toMatchObject({ ownership: 'ours', tags: { 'shepherd-op': witnessOf(1) } });
  expect(listed!.tags).toEqual(machine.tags);
});

test.each([
  ['vector 5: the answer is lost', { type: 'drop', phase: 'after' }],
  ['vector 5: half of the answer comes', { type: 'drop', phase: 'midBody' }],
  [
    'vector 5: an error is answered though it was done',
    { type: 'status', code: 502, executed: true },
  ],
  ['vector 7: 201 with a page in HTML', { type: 'garbage', kind: 'html' }],
  ['vector 7: 201 with half a document', { type: 'garbage', kind: 'truncated' }],
] as const)('%s: the server is found by its name, and asked for once', async (_, effect) => {
  const stand = await startStand();
  stand.fake.addFault(onOrder(effect));
  const { made, announced } = await creating(stand);
  const machine = await made;
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id }]);
  expect(stand.count(ORDER)).toBe(1);
  expect(announced).toEqual([{ attempts: 1, ambiguous: false }]);
  expect(machine.ownership).toBe('ours');
});

test('vector 5: it is found also when the list shows it a minute late', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'drop', phase: 'after' }));
  stand.fake.setKnobs({ listLagMs: 60_000 });
  const { made, tookMs } = await creating(stand);
  const machine = await made;
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id }]);
  expect(tookMs()).toBeGreaterThan(60_000);
  expect(stand.count(ORDER)).toBe(1);
});

test('vector 6: an order that was never carried out is not repeated by itself; the next call asks again', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'drop', phase: 'before' }));
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

test('vector 8: nothing is in stock: the plan is held, and nothing is left', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'stockOut' }));
  const { made } = await creating(stand);
  await expect(made).rejects.toMatchObject({
    kind: 'transient',
    outcome: 'not-done',
    capacity: { scope: 'plan' },
  });
  expect([stand.fake.userData(), stand.fake.servers()]).toEqual([[], []]);
});

test('a team that has all that it may have is at its quota', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'quota' }));
  // The words of a limit and of a stock together mean the limit.
  const detail = 'No capacity is available within the limit of this team';
  stand.fake.setKnobs({ quotaText: { status: 422, code: 'invalid', title: 'Error', detail } });
  const error: unknown = await (await creating(stand)).made.catch((failed: unknown) => failed);
  expect(error).toMatchObject({ kind: 'transient', quota: true, outcome: 'not-done' });
  expect(error).not.toHaveProperty('capacity');
  expect(stand.fake.userData()).toEqual([]);
});

test('vector 9: a field that is missing is named by its pointer', async () => {
  const stand = await startStand();
  const pointer = '/data/attributes/plan';
  const body = {
    errors: [{ code: 'INVALID', status: '422', detail: 'must be filled', source: { pointer } }],
  };
  stand.fake.addFault(onOrder({ type: 'status', code: 422, body }));
  const error: unknown = await (await creating(stand)).made.catch((failed: unknown) => failed);
  expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect(explain(error)).toContain(`at ${pointer} must be filled`);
  expect(stand.fake.userData()).toEqual([]);
});

test('vector 10: asked to slow down, it asks again a minute later, and reads meanwhile', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'rateLimit', retryAfterS: 60 }));
  const { made, provider, announced } = await creating(stand);
  const listed: boolean[] = [];
  const reading = (async () => {
    await made;
    listed.push(true);
  })();
  await reading;
  const asked = stand.fake.requests().filter(({ method, route }) => `${method} ${route}` === ORDER);
  expect(asked.map(({ status }) => status)).toEqual([429, 201]);
  expect(asked[1]!.atMs - asked[0]!.atMs).toBeGreaterThanOrEqual(60_000);
  expect(announced).toHaveLength(2);
  expect((await stand.run(provider.listMachines(live))).complete).toBe(true);
});

test('vector 10: while orders have to wait, reads go on', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'rateLimit', retryAfterS: 240 }));
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  const making = provider.createMachine(order, live);
  await stand.wait(1_000);
  expect(stand.count(ORDER)).toBe(1);
  const beforeMs = stand.clock.now();
  await stand.run(provider.listMachines(live));
  expect(stand.clock.now() - beforeMs).toBeLessThan(5_000);
  expect(stand.count(ORDER)).toBe(1);
  await stand.run(making);
  expect(stand.count(ORDER)).toBe(2);
});

test('vector 10: a wait that is longer than anybody waits is told, and nothing is left', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'rateLimit', retryAfterS: 1_800 }));
  const { made } = await creating(stand);
  const error = (await made.catch((failed: unknown) => failed)) as { rateLimit: { retryAt: Date } };
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  const waitMs = error.rateLimit.retryAt.getTime() - stand.clock.now();
  expect(Math.round(waitMs / 1_000)).toBe(1_800);
  expect(stand.fake.userData()).toEqual([]);
});

test('vector 11: killed after the record was made: it waits, and orders with a new secret in the same record', async () => {
  const stand = await startStand();
  stand.fake.addFault({
    match: { route: '/servers', method: 'POST' },
    effect: { type: 'hang', phase: 'before' },
  });
  const dead = stand.fleet();
  const unused = await stand.free(dead);
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  const onAttempt = () => new Promise<never>(() => undefined);
  void dead.createMachine({ ...order, onAttempt }, live).catch(() => null);
  await stand.wait(1_000);
  const [record] = stand.fake.userData();
  const before = await stand.api('GET', `/user_data/${record!.id}`);
  stand.fake.clearFaults();

  const { made, tookMs } = await creating(stand, { resumed: true, unused });
  const machine = await made;
  expect(tookMs()).toBeGreaterThanOrEqual(120_000);
  expect(stand.fake.userData().map(({ id }) => id)).toEqual([record!.id]);
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id, userData: record!.id }]);
  const after = await stand.api('GET', `/user_data/${record!.id}`);
  expect(after.data).not.toEqual(before.data);
});

test('vector 12: killed after the order was sent: the server that shows up a minute later is the one', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'hang', phase: 'after' }));
  stand.fake.setKnobs({ listLagMs: 60_000 });
  const dead = stand.fleet();
  const unused = await stand.free(dead);
  void dead
    .createMachine({ unused, hostname: nameOf(1), witness: witnessOf(1) }, live)
    .catch(() => null);
  await stand.wait(1_000);
  const [record] = stand.fake.userData();
  const before = await stand.api('GET', `/user_data/${record!.id}`);

  const provider = stand.fleet();
  const again = { unused, hostname: nameOf(1), witness: witnessOf(1), resumed: true };
  const machine = await stand.run(provider.createMachine(again, live));
  expect(stand.fake.servers()).toMatchObject([{ id: machine.id }]);
  expect(stand.count(ORDER)).toBe(1);
  expect(await stand.api('GET', `/user_data/${record!.id}`)).toEqual(before);
});

test('vector 13: a stranger has the name: the race is lost, and nothing is touched', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  stand.fake.addFault({ effect: { type: 'stranger', hostname: nameOf(1) } });
  const seq = stand.lastSeq();
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  await expect(stand.run(provider.createMachine(order, live))).rejects.toMatchObject({
    kind: 'race-lost',
    outcome: 'not-done',
  });
  expect(stand.sent(seq).filter((line) => !line.startsWith('GET'))).toEqual([]);
  expect(stand.fake.servers()).toHaveLength(1);
});

test('two servers of one name are both told', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  for (const hostname of [nameOf(1), nameOf(1)]) {
    stand.fake.addFault({ effect: { type: 'stranger', hostname } });
  }
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  const error: unknown = await stand
    .run(provider.createMachine(order, live))
    .catch((failed: unknown) => failed);
  expect(error).toMatchObject({ kind: 'conflict' });
  for (const { id } of stand.fake.servers()) expect(explain(error)).toContain(id);
});

test('a record of another creation: young, the race is lost; old, it is removed first', async () => {
  const stand = await startStand();
  stand.fake.addFault(onOrder({ type: 'drop', phase: 'before' }));
  const first = await creating(stand, { n: 1 });
  await expect(first.made).rejects.toMatchObject({ outcome: 'unknown' });
  const [old] = stand.fake.userData();
  const second = await creating(stand, { n: 2 });
  const machine = await second.made;
  expect(machine.tags['shepherd-op']).toBe(witnessOf(2));
  const [left, ...more] = stand.fake.userData();
  expect([more, left!.id === old!.id]).toEqual([[], false]);

  const other = await startStand();
  const provider = other.fleet();
  const unused = await other.free(provider);
  const onAttempt = () => new Promise<never>(() => undefined);
  const order = { unused, hostname: nameOf(1) };
  void provider
    .createMachine({ ...order, witness: witnessOf(1), onAttempt }, live)
    .catch(() => null);
  await other.wait(1_000);
  await expect(
    other.run(other.fleet().createMachine({ ...order, witness: witnessOf(2) }, live)),
  ).rejects.toMatchObject({ kind: 'race-lost' });
  expect(other.fake.userData()).toHaveLength(1);
});

test('a record of another set stays, whatever its age', async () => {
  const stand = await startStand();
  const theirs = await stand.api(
    'POST',
    '/user_data',
    {
      description: `shepherd ${OTHER_SET} ${nameOf(1)} ${witnessOf(9)}`,
      content: Buffer.from('#cloud-config\n{}\n').toString('base64'),
      project: stand.fake.project,
    },
    'user_data',
  );
  await stand.wait(600_000);
  await (
    await creating(stand)
  ).made;
  expect(stand.fake.userData().map(({ id }) => id)).toContain((theirs.data as { id: string }).id);
});

test.each(['description', 'content'] as const)(
  'an API that keeps less of a %s than it was given is refused, and nothing is left',
  async (field) => {
    const stand = await startStand();
    stand.fake.addFault({
      match: { method: 'POST', route: '/user_data' },
      effect: { type: 'cut', field, length: 40 },
    });
    await expect((await creating(stand)).made).rejects.toMatchObject({ kind: 'invalid' });
    expect([stand.fake.userData(), stand.fake.servers()]).toEqual([[], []]);
  },
);

test('our key was removed: it is put in place once, and the order is sent again', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  const body = {
    errors: [{ detail: 'could not be found', source: { pointer: '/data/attributes/ssh_keys' } }],
  };
  stand.fake.addFault(onOrder({ type: 'status', code: 422, body }));
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1) };
  // The key is there: then it is something else, and is not tried again.
  await expect(stand.run(provider.createMachine(order, live))).rejects.toMatchObject({
    kind: 'invalid',
  });
  expect(stand.count(ORDER)).toBe(1);
});

test('vector 31: a name that comes back in capitals is the same name', async () => {
  const stand = await startStand();
  stand.fake.setKnobs({ hostnameCase: 'upper' });
  stand.fake.addFault(onOrder({ type: 'drop', phase: 'after' }));
  const { made, provider } = await creating(stand);
  const machine = await made;
  expect(machine.hostname).toBe(nameOf(1));
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines).toContainEqual(
    expect.objectContaining({ id: machine.id, ownership: 'ours', reservationId: slotOf(1) }),
  );
});

test('a machine is what was asked for: system, key, billing', async () => {
  const stand = await startStand({}, { raid: 'raid-1' });
  await (
    await creating(stand)
  ).made;
  const [server] = stand.fake.servers();
  expect(server).toMatchObject({
    plan: 'c3-small-x86',
    site: 'ASH',
    billing: 'hourly',
    raid: 'raid-1',
    operatingSystem: 'ubuntu_24_04_x64_lts',
  });
  expect(server!.sshKeys).toHaveLength(1);
});

test('a limit that a record breaks is no quota of machines: nothing pauses', async () => {
  const stand = await startStand();
  const body = { errors: [{ code: 'VALIDATION', detail: 'content exceeds the limit of 4096' }] };
  stand.fake.addFault({
    match: { method: 'POST', route: '/user_data' },
    times: 1,
    effect: { type: 'status', code: 422, body },
  });
  const error: unknown = await (await creating(stand)).made.catch((failed: unknown) => failed);
  expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect(error).not.toHaveProperty('quota', true);
  expect(explain(error)).toContain('4096');
});
