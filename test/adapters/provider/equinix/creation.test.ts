import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FleetCreateRequest, FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { isProviderError } from '../../../../src/domain/errors.ts';
import { PLAN_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { settled } from '../../../doubles/simulated-clock.ts';
import { bareFleetOver, fleetOver } from './fleet.ts';
import { configFor, INSTANCE_SET_ID, type Recorded, recordingDeps } from './setup.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const POST = 'POST /projects/{id}/devices';
const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const live = { signal: new AbortController().signal };

let fake: Fakequinix;
let provider: FleetProvider;
/** Of which no call lets time pass. */
let bare: FleetProvider;
let deps: Recorded;
let unused: ProviderMachine;
let progress: { attempts: number; ambiguous: boolean }[];

beforeEach(async () => {
  deps = recordingDeps();
  const { clock, network } = deps;
  fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    profile: 'fast',
    reservations: 2,
  });
  const config = configFor(fake.url, { token: () => fake.tokens.user, projectId: fake.projectId });
  provider = fleetOver(config, deps);
  bare = bareFleetOver(config, deps);
  await provider.prepare(live);
  const { machines } = await provider.listMachines(live);
  unused = machines[0]!;
  progress = [];
});
afterEach(async () => {
  await Promise.all([provider.stop(), bare.stop()]);
  expect(fake.violations()).toEqual([]);
  await fake.close();
});

const order = (change: Partial<FleetCreateRequest> = {}): FleetCreateRequest => ({
  unused,
  hostname: provider.hostnameFor(unused.reservationId ?? ''),
  witness: WITNESS,
  onAttempt: async (seen) => void progress.push(seen),
  ...change,
});
/** What the emulator was asked since a request of the journal, shortest form. */
const journal = (afterSeq = 0) =>
  fake.requests(afterSeq).map(({ method, route }) => `${method} ${route}`);
const posts = () => journal().filter((line) => line === POST).length;
const lastSeq = () => fake.requests().at(-1)!.seq;
const ours = () => fake.devices().filter(({ hostname }) => hostname.startsWith('shepherd-ci-'));

test('vector 1: looks first, posts once, tags with witness and owner', async () => {
  const before = lastSeq();
  const request = order();
  const copy = structuredClone({ unused: request.unused, hostname: request.hostname });
  const created = await provider.createMachine(request, live);
  expect(journal(before)).toEqual([
    'GET /hardware-reservations/{id}',
    'POST /projects/{id}/devices',
  ]);
  const [device] = fake.devices();
  expect(device).toMatchObject({ id: created.id, reservationId: unused.reservationId });
  const marks = [`shepherd-idempotency-${WITNESS}`, `shepherd-owner-${INSTANCE_SET_ID}`];
  expect(device?.tags.filter((tag) => /^shepherd-(idempotency|owner)-/.test(tag))).toEqual(marks);
  expect(device?.tags).toContain(`${PLAN_TAG}=${unused.plan}`);
  expect({ unused: request.unused, hostname: request.hostname }).toEqual(copy);
  expect(progress).toEqual([{ attempts: 1, ambiguous: false }]);
  const body = fake.requests().at(-1)!.body as Record<string, unknown>;
  expect(body).toMatchObject({
    operating_system: 'ubuntu_22_04',
    hardware_reservation_id: unused.reservationId,
    metro: expect.any(String),
  });
  expect(body['project_ssh_keys']).toHaveLength(1);
});

test('vector 2: no reservation, no call', async () => {
  const before = lastSeq();
  const request = order({ unused: { ...unused, reservationId: '' } });
  await expect(provider.createMachine(request, live)).rejects.toMatchObject({
    code: 'invalid',
    outcome: 'not-done',
  });
  expect(journal(before)).toEqual([]);
});

test("vector 3: a stranger's device is a lost race before any post, and evicts", async () => {
  fake.snatch(unused.reservationId!);
  await expect(provider.createMachine(order(), live)).rejects.toMatchObject({
    code: 'race-lost',
    outcome: 'not-done',
  });
  expect(posts()).toBe(0);
  expect(progress).toEqual([]);
});

test('vector 4: a lost reply is settled by looking', async () => {
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const created = await provider.createMachine(order(), live);
  expect(ours().map(({ id }) => id)).toEqual([created.id]);
  expect(posts()).toBe(1);
});

test('vector 5: a refused repetition is not believed while the views may be stale', async () => {
  fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: 60_000 } });
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const created = await provider.createMachine(order(), live);
  expect(ours().map(({ id }) => id)).toEqual([created.id]);
  const answers = fake.requests().filter(({ method, route }) => `${method} ${route}` === POST);
  expect(answers.map(({ status }) => status)).toEqual([null, 422]);
});

test('vector 6: an unsent request is repeated after two empty looks, with the same witness', async () => {
  fake.addFault({
    match: CREATE,
    times: 1,
    effect: { type: 'status', code: 502, executed: false },
  });
  const before = lastSeq();
  const created = await provider.createMachine(order(), live);
  const look = ['GET /hardware-reservations/{id}', 'GET /projects/{id}/devices'];
  const post = 'POST /projects/{id}/devices';
  expect(journal(before)).toEqual([look[0], post, ...look, ...look, post]);
  expect(progress).toEqual([
    { attempts: 1, ambiguous: false },
    { attempts: 2, ambiguous: true },
  ]);
  const gaps = deps.delaysMs.filter((ms) => ms === 5_000 || ms === 10_000);
  expect(gaps).toEqual([5_000, 10_000]);
  expect(ours()).toMatchObject([
    { id: created.id, tags: expect.arrayContaining([`shepherd-idempotency-${WITNESS}`]) },
  ]);
});

test('vector 7: a stranger between look and post is a lost race after one post', async () => {
  fake.addFault({ effect: { type: 'race', when: 'betweenCheckAndCreate' } });
  await expect(provider.createMachine(order(), live)).rejects.toMatchObject({
    code: 'race-lost',
    outcome: 'not-done',
  });
  expect(posts()).toBe(1);
  expect(ours()).toEqual([]);
});

test('vector 8: a stranger after an unsent request is a lost race after one post', async () => {
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'before' } });
  fake.addFault({ effect: { type: 'race', when: 'afterLostReply' } });
  await expect(provider.createMachine(order(), live)).rejects.toMatchObject({
    code: 'race-lost',
    outcome: 'not-done',
  });
  expect(posts()).toBe(1);
});

test('vector 10: a resumed creation looks twice before it posts', async () => {
  const before = lastSeq();
  await provider.createMachine(order({ resumed: true }), live);
  expect(
    journal(before)
      .slice(0, 4)
      .map((line) => line.split(' ')[0]),
  ).toEqual(Array(4).fill('GET'));
  expect(posts()).toBe(1);
  expect(progress).toEqual([{ attempts: 1, ambiguous: true }]);
});

test('vector 11: a refused token after a lost reply leaves the outcome unknown', async () => {
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'status', code: 500, executed: true } });
  const lookByTag = { method: 'GET', route: CREATE.route };
  fake.addFault({ match: lookByTag, effect: { type: 'status', code: 401 } });
  fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: 10_000 } });
  const failure = await provider.createMachine(order(), live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ outcome: 'unknown' });
  expect((failure as Error).cause).toMatchObject({ kind: 'Unauthorized', ambiguous: true });
});

test('vector 12: many creations of one slot make one device', async () => {
  const marks = Array.from({ length: 5 }, (_, n) =>
    witness(`0b6e1111-1111-4111-8111-00000000000${n}`),
  );
  const results = await Promise.allSettled(
    marks.map((mark) => provider.createMachine(order({ witness: mark }), live)),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const lost = results.filter((result) => result.status === 'rejected');
  expect(lost.every(({ reason }) => isProviderError(reason, 'race-lost'))).toBe(true);
  expect(posts()).toBe(1);
});

test('vector 13: a refusal while the reservation stays free is final', async () => {
  fake.addFault({
    match: CREATE,
    effect: { type: 'status', code: 422, body: { errors: ['operating_system is unknown'] } },
  });
  const failure = await provider.createMachine(order(), live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'invalid', outcome: 'not-done' });
  expect((failure as Error).cause).toMatchObject({ messages: ['operating_system is unknown'] });
  expect(posts()).toBe(1);
});

test('no capacity is a kind of its own and not repeated', async () => {
  const body = { errors: ['There are no available hardware reservations'] };
  fake.addFault({ match: CREATE, effect: { type: 'status', code: 503, body } });
  const creation = provider.createMachine(order(), live);
  await expect(creation).rejects.toMatchObject({ code: 'transient', capacity: { scope: 'plan' } });
  expect(posts()).toBe(1);
});

test('a server that never settles leaves the outcome unknown', async () => {
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'before' } });
  fake.addFault({ match: CREATE, effect: { type: 'status', code: 422 } });
  await expect(provider.createMachine(order(), live)).rejects.toMatchObject({ outcome: 'unknown' });
  expect(ours()).toEqual([]);
});

test('429 on the post is repeated, and announced each time', async () => {
  const effect = { type: 'status', code: 429, headers: { 'Retry-After': '1' } } as const;
  fake.addFault({ match: CREATE, times: 2, effect });
  await provider.createMachine(order(), live);
  expect(progress.map(({ attempts }) => attempts)).toEqual([1, 2, 3]);
  expect(ours()).toHaveLength(1);
});

test('an abort in the middle of the post is Cancelled, and the device is found later', async () => {
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'hang', phase: 'after' } });
  const controller = new AbortController();
  const creation = bare.createMachine(order(), { signal: controller.signal });
  const failed = expect(creation).rejects.toMatchObject({ code: 'aborted', outcome: 'unknown' });
  await settled();
  expect(ours().length).toBe(1);
  controller.abort();
  await failed;
  const found = await provider.findByWitness(WITNESS, unused.reservationId!, live);
  expect(found?.id).toBe(ours()[0]!.id);
});
