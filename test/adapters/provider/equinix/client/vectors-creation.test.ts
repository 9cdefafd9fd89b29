import { settled } from '../../../../doubles/simulated-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import type { AttemptProgress, CreateRequest } from '../../../../../src/adapters/provider/port.ts';
import { WITNESS_TAG } from '../../../../../src/domain/provisioning/provider-tags.ts';
import { INSTANCE_SET_ID } from '../../driver-stand.ts';
import { WITNESS } from '../setup.ts';
import { createStand, live, orderFor, type ClientStand } from './stand.ts';

const GET_RESERVATION = 'GET /hardware-reservations/{id}';
/** The client reads a foreign device without tags before it decides. */
const GET_DEVICE = 'GET /devices/{id}';
const LIST_DEVICES = 'GET /projects/{id}/devices';
const POST = 'POST /projects/{id}/devices';
const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const LOOK = [GET_RESERVATION, LIST_DEVICES];
const OURS = `shepherd-idempotency-${WITNESS}`;

let stand: ClientStand;
let order: CreateRequest;
let progress: AttemptProgress[];
let reservationId: string;

beforeEach(async () => {
  stand = await createStand();
  progress = [];
  order = await orderFor(stand, { onAttempt: async (seen) => void progress.push(seen) });
  reservationId = order.unused.reservationId!;
});

const create = (change: Partial<CreateRequest> = {}) =>
  stand.client.createDevice({ ...order, ...change }, live);
const posts = () => stand.routes().filter((route) => route === POST).length;
const postedAtMs = () =>
  stand
    .calls()
    .filter(({ method, route }) => `${method} ${route}` === POST)
    .map(({ atMs }) => atMs);
const ours = () => stand.fake.devices().filter(({ tags }) => tags.includes(OURS));
const outcomes = () =>
  stand.metrics.calls.flatMap(({ name, labels }) =>
    name === 'equinix_create_outcomes_total' ? [labels['outcome']] : [],
  );

test('vector 1: looks once, posts once with one creation key, and leaves the request unchanged', async () => {
  const tags = { rack: '7', [WITNESS_TAG]: 'of-an-earlier-life' };
  const device = await stand.run(create({ tags: Object.freeze({ ...tags }) }));
  expect(stand.routes()).toEqual([GET_RESERVATION, POST]);
  expect(stand.fake.devices()).toMatchObject([
    {
      id: device.id,
      hostname: order.hostname,
      reservationId,
      tags: ['rack=7', OURS, `shepherd-owner-${INSTANCE_SET_ID}`],
    },
  ]);
  expect(progress).toEqual([{ attempts: 1, ambiguous: false }]);
  expect(stand.calls()[1]!.body).toMatchObject({
    plan: expect.any(String),
    metro: expect.any(String),
    operating_system: 'ubuntu_22_04',
    hardware_reservation_id: reservationId,
    project_ssh_keys: [expect.any(String)],
  });
  expect(outcomes()).toEqual(['created']);
});

test.each([
  ['a creation without a reservation', null],
  ['a creation that lets the server choose', 'next-available'],
])('vector 2: %s makes no call', async (_, id) => {
  const error = await stand.failureOf(create({ unused: { ...order.unused, reservationId: id } }));
  expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect(stand.calls()).toEqual([]);
  expect(progress).toEqual([]);
});

test('vector 3: reports a foreign device as a lost race before any post', async () => {
  stand.fake.snatch(reservationId);
  const error = await stand.failureOf(create());
  expect(error).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(stand.routes()).toEqual([GET_RESERVATION, GET_DEVICE]);
  expect(outcomes()).toEqual(['race_lost']);
});

test('vector 4: resolves a lost reply by looking', async () => {
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const device = await stand.run(create());
  expect(ours().map(({ id }) => id)).toEqual([device.id]);
  expect(stand.fake.devices()).toHaveLength(1);
  expect(posts()).toBe(1);
  expect(outcomes()).toEqual(['adopted']);
});

test('vector 5: does not trust a refused repetition while the views may be stale', async () => {
  stand.fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: 30_000 } });
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const device = await stand.run(create());
  expect(stand.fake.devices().map(({ id }) => id)).toEqual([device.id]);
  const answers = stand.calls().filter(({ method, route }) => `${method} ${route}` === POST);
  expect(answers.map(({ status }) => status)).toEqual([null, 422]);
});

test('vector 6: repeats an unsent request after two empty looks, with the same creation key', async () => {
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'before' } });
  const device = await stand.run(create());
  expect(stand.routes()).toEqual([GET_RESERVATION, POST, ...LOOK, ...LOOK, POST]);
  const atMs = stand.calls().map((entry) => entry.atMs);
  expect(atMs[2]! - atMs[1]!).toBeGreaterThanOrEqual(5_000);
  expect(atMs[4]! - atMs[3]!).toBeGreaterThanOrEqual(10_000);
  expect(progress).toEqual([
    { attempts: 1, ambiguous: false },
    { attempts: 2, ambiguous: true },
  ]);
  expect(ours().map(({ id }) => id)).toEqual([device.id]);
  expect(stand.fake.devices()).toHaveLength(1);
});

test('vector 7: reports a foreign device between look and post as a lost race after one more read', async () => {
  stand.fake.addFault({ effect: { type: 'race', when: 'betweenCheckAndCreate' } });
  const error = await stand.failureOf(create());
  expect(error).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(stand.routes()).toEqual([GET_RESERVATION, POST, GET_RESERVATION, GET_DEVICE]);
  expect(ours()).toEqual([]);
});

test('vector 8: reports a foreign device after an unsent request as a lost race after one post', async () => {
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'before' } });
  stand.fake.addFault({ effect: { type: 'race', when: 'afterLostReply' } });
  expect(await stand.failureOf(create())).toMatchObject({ kind: 'race-lost' });
  expect(posts()).toBe(1);
  expect(ours()).toEqual([]);
});

test('vector 10 (client): looks twice in a resumed creation, then posts with the old creation key', async () => {
  await stand.run(create({ resumed: true }));
  expect(stand.routes()).toEqual([...LOOK, ...LOOK, GET_RESERVATION, POST]);
  expect(progress).toEqual([{ attempts: 1, ambiguous: true }]);
  expect(ours()).toHaveLength(1);
});

test('vector 11: reports an ambiguous outcome when the token is revoked after a lost reply', async () => {
  stand.fake.addFault({
    match: CREATE,
    times: 1,
    effect: { type: 'status', code: 500, executed: true },
  });
  stand.fake.addFault({ match: { method: 'GET', nth: 2 }, effect: { type: 'tokenRevoked' } });
  const error = await stand.failureOf(create());
  expect(error).toMatchObject({ kind: 'auth', outcome: 'unknown' });
  expect(outcomes()).toEqual(['unknown']);
  expect(ours()).toHaveLength(1);
  const later = stand.another({ token: () => stand.fake.tokens.project });
  const sought = { witness: WITNESS, reservationId };
  const found = await stand.run(later.findByWitness(sought, live));
  expect(found?.id).toBe(ours()[0]!.id);
});

test('vector 13: accepts a refusal as final while the reservation stays free', async () => {
  const body = { errors: ['operating_system is unknown'] };
  stand.fake.addFault({ match: CREATE, effect: { type: 'status', code: 422, body } });
  const error = await stand.failureOf(create());
  expect(error).toMatchObject({ kind: 'invalid', status: 422, messages: body.errors });
  expect(error.outcome).toBe('not-done');
  expect(posts()).toBe(1);
  expect(outcomes()).toEqual(['rejected']);
});

test('reports a 503 that names missing reservations as Capacity, and does not repeat it', async () => {
  const body = { errors: ['There are no available hardware reservations for this plan'] };
  stand.fake.addFault({ match: CREATE, effect: { type: 'status', code: 503, body } });
  expect(await stand.failureOf(create())).toMatchObject({
    ...{ kind: 'transient', outcome: 'not-done', capacity: { scope: 'plan' } },
  });
  expect(posts()).toBe(1);
  expect(outcomes()).toEqual(['capacity']);
});

test('ends refused repetitions after two minutes of empty looks as OutcomeUnknown', async () => {
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'before' } });
  stand.fake.addFault({ match: CREATE, effect: { type: 'status', code: 403 } });
  const error = await stand.failureOf(create());
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  const [lostAtMs] = postedAtMs();
  expect(stand.calls().at(-1)!.atMs - lostAtMs!).toBeGreaterThanOrEqual(120_000);
  expect(outcomes()).toEqual(['unknown']);
});

test('waits after a 429 on the post, and announces each attempt', async () => {
  const effect = { type: 'status', code: 429, headers: { 'Retry-After': '9' } } as const;
  stand.fake.addFault({ match: CREATE, times: 2, effect });
  await stand.run(create());
  expect(progress).toEqual([1, 2, 3].map((attempts) => ({ attempts, ambiguous: false })));
  const [first, second, third] = postedAtMs();
  expect(second! - first!).toBeGreaterThanOrEqual(9_000);
  expect(third! - second!).toBeGreaterThanOrEqual(9_000);
  expect(ours()).toHaveLength(1);
});

test('ends the creation before the post if onAttempt throws', async () => {
  const fenced = new Error('the session expired');
  const creation = create({ onAttempt: () => Promise.reject(fenced) });
  await expect(stand.run(creation)).rejects.toBe(fenced);
  expect(posts()).toBe(0);
});

test('B2: attempts no post after an abort during the announcement, and leaves no doubt', async () => {
  const controller = new AbortController();
  const onAttempt = async () => controller.abort();
  const creation = stand.client.createDevice({ ...order, onAttempt }, controller.signal);
  const looks = 1;
  expect(await stand.failureOf(creation)).toMatchObject({
    kind: 'aborted',
    outcome: 'not-done',
    attempts: looks,
  });
  expect(stand.routes()).toEqual([GET_RESERVATION]);
});

test('reports an abort in the middle of the post as Cancelled and ambiguous, and finds the device later', async () => {
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'hang', phase: 'after' } });
  const controller = new AbortController();
  const creation = stand.client.createDevice(order, controller.signal);
  const failed = stand.failureOf(creation);
  await settled();
  expect(ours().length).toBe(1);
  controller.abort();
  expect(await failed).toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  const sought = { witness: WITNESS, reservationId };
  const found = await stand.run(stand.client.findByWitness(sought, live));
  expect(found?.id).toBe(ours()[0]!.id);
});

test('reports a reservation of another project as a lost race', async () => {
  const other = await createStand({
    fake: {
      world: {
        projects: [{ name: 'ours' }, { name: 'theirs' }],
        reservations: [{ count: 1, project: 'theirs' }],
      },
    },
  });
  const moved = await orderFor(other);
  const error = await other.failureOf(other.client.createDevice(moved, live));
  expect(error).toMatchObject({ kind: 'race-lost' });
  expect(other.routes()).toEqual([GET_RESERVATION]);
});

test('posts nothing again after a look at an incomplete list', async () => {
  const view = { type: 'stale', view: 'single', lagMs: 60_000 } as const;
  stand.fake.addFault({ effect: view });
  stand.fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const holes = { type: 'unstablePages', mode: 'omit' } as const;
  stand.fake.addFault({ match: { method: 'GET', route: CREATE.route }, effect: holes });
  const sought = { witness: WITNESS, reservationId };
  const creation = create();
  await settled();
  expect(ours().length).toBe(1);
  const partial = await stand.failureOf(stand.another().findByWitness(sought, live));
  expect(partial.kind).toBe('transient');
  expect(await stand.run(creation)).toMatchObject({ id: ours()[0]!.id });
  expect(posts()).toBe(1);
});
