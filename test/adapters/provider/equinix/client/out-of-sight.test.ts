import { expect, test } from 'vitest';
import { settled } from '../../../../doubles/simulated-clock.ts';
import { live } from './stand.ts';
import {
  answer,
  failureOf,
  requestFor,
  scriptedClient,
  WITNESS,
  type Operations,
  type ScriptedApi,
  type SeenRequest,
} from '../setup.ts';

/** The API's view of one reservation and its device. Absent: everything is free. */
interface Scenery {
  /** Fields of the reservation. */
  readonly reservation?: object;
  /** Answer to a read of the device itself. */
  readonly device?: (count: number) => readonly [status: number, body: unknown];
  /** Devices in the listing by tag. */
  readonly tagged?: readonly object[];
  /** Answer to a creation request. */
  readonly creation?: readonly [status: number, body: unknown];
}

const SLOT = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';
const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const NAME = 'shepherd-ci-4f0c2d9a-7b1e-4c55';
const OURS = [`shepherd-idempotency-${WITNESS}`];
const DEVICE = { id: ID, hostname: NAME, state: 'provisioning', tags: OURS };
const AS_ADDRESS = { device: { href: `/devices/${ID}` } };
const REFUSED = { errors: ['no'] };
const ORDER = requestFor(SLOT);
const RESUMED = { ...ORDER, resumed: true };

let api: ScriptedApi;
let client: Operations;

async function start(scenery: Scenery) {
  const { reservation, device = () => [404, REFUSED], tagged = [], creation } = scenery;
  let looks = 0;
  const reply = ({ method, path }: SeenRequest): readonly [number, unknown] => {
    if (method === 'POST') return creation ?? [422, REFUSED];
    if (path.includes('/devices/')) return device(++looks);
    if (path.includes('/projects/')) return [200, listOf(tagged)];
    const plan = { slug: 'm3.large.x86' };
    return [200, { id: SLOT, provisionable: true, plan, ...reservation }];
  };
  await serve((request, res) => answer(res, ...reply(request)), {
    ...{ probeGap: 1_000, settle: 5_000 },
  });
}
const serve = async (...[script, change]: Parameters<typeof scriptedClient>) =>
  ({ api, client } = await scriptedClient(script, { useProjectKeys: true, ...change }));
const listOf = (devices: readonly object[]) => ({
  devices,
  meta: { total: devices.length, current_page: 1, last_page: 1 },
});
const methods = () => new Set(api.seen.map(({ method }) => method));

test('does not treat an unreadable holder as foreign in a resumed creation', async () => {
  for (const status of [403, 404]) {
    await start({ reservation: AS_ADDRESS, device: () => [status, REFUSED] });
    const error = await failureOf(client.createDevice(RESUMED, live));
    expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
    expect(methods()).toEqual(new Set(['GET']));
  }
});

test('adopts a holder that was unreadable at first in a resumed creation', async () => {
  const device = (count: number) =>
    count < 4 ? ([403, REFUSED] as const) : ([200, DEVICE] as const);
  await start({ reservation: AS_ADDRESS, device });
  expect(await client.createDevice(RESUMED, live)).toMatchObject({ id: ID });
});

test('treats an unreadable holder as foreign in a first creation', async () => {
  await start({ reservation: AS_ADDRESS, device: () => [403, REFUSED] });
  const error = await failureOf(client.createDevice(ORDER, live));
  expect(error).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(methods()).toEqual(new Set(['GET']));
});

test('does not rule out a device of ours while the holder is unreadable', async () => {
  await start({ reservation: AS_ADDRESS, device: () => [403, REFUSED] });
  const sought = { reservationId: SLOT, witness: WITNESS };
  expect(await failureOf(client.findByWitness(sought, live))).toMatchObject({ kind: 'transient' });
});

test('rules it out without a holder, and reports a lost race for a foreign device', async () => {
  const sought = { reservationId: SLOT, witness: WITNESS };
  await start({});
  expect(await client.findByWitness(sought, live)).toBeNull();
  await start({ reservation: { device: { ...DEVICE, tags: ['of somebody'] } } });
  expect(await failureOf(client.findByWitness(sought, live))).toMatchObject({
    kind: 'race-lost',
    outcome: 'not-done',
  });
});

test.each(['before', 'after'])(
  'remembers a creation key seen %s a request when the device fails',
  async (when) => {
    let reads = 0;
    // The first look shows the reservation free before the request is sent.
    const isFree = () => when === 'after' && ++reads === 1;
    await serve(({ method, path }, res) => {
      if (method === 'POST') return answer(res, 422, REFUSED);
      if (path.includes('/devices/')) return answer(res, 400, REFUSED);
      const holder = isFree() ? {} : { device: DEVICE };
      const plan = { slug: 'm3.large.x86' };
      return answer(res, 200, { id: SLOT, provisionable: true, plan, ...holder });
    });
    expect(await failureOf(client.createDevice(ORDER, live))).toMatchObject({ outcome: 'unknown' });
  },
);

test('reads a holder that comes without tags before it decides', async () => {
  const { tags: _left, ...bare } = DEVICE;
  await start({ reservation: { device: bare }, device: () => [200, DEVICE] });
  expect(await client.createDevice(ORDER, live)).toMatchObject({ id: ID });
  expect(methods()).toEqual(new Set(['GET']));
});

test('checks the outcome of a server-side timeout before it repeats the request', async () => {
  await start({ creation: [408, REFUSED] });
  const sent = () => api.seen.flatMap(({ method }, n) => (method === 'POST' ? [n] : []));
  const failed = failureOf(client.createDevice(ORDER, live));
  while (sent().length < 2) await settled();
  client.stop();
  expect(await failed).toMatchObject({ outcome: 'unknown' });
  // Two looks, each at the reservation and the tags.
  const [first, second] = sent();
  expect(second! - first! - 1).toBe(4);
});

test.each([{ hostname: 'another' }, { tags: [] }])(
  'does not accept a created device that differs from the order: %j',
  async (change) => {
    await start({ creation: [201, { ...DEVICE, ...change }] });
    const error = await failureOf(client.createDevice(ORDER, live));
    expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  },
);

test('accepts a created device that matches the order', async () => {
  await start({ creation: [201, DEVICE] });
  expect(await client.createDevice(ORDER, live)).toMatchObject({ id: ID, hostname: NAME });
});

test.each([{ provisionable: false }, { spare: true }, { need_of_service: true }])(
  'does not use a reservation that is %o',
  async (reservation) => {
    await start({ reservation });
    const error = await failureOf(client.createDevice(ORDER, live));
    expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
    expect(methods()).toEqual(new Set(['GET']));
  },
);

test('does not conclude in a resumed creation that its reservation is merely out of service', async () => {
  await start({ reservation: { provisionable: false } });
  const error = await failureOf(client.createDevice(RESUMED, live));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
});

test('takes no foreign device from a server that ignores the filter by tag', async () => {
  const stranger = { ...DEVICE, tags: ['of somebody', `${OURS[0]}-and-more`] };
  await start({ tagged: [stranger], creation: [201, DEVICE] });
  expect(await client.findByWitness({ reservationId: SLOT, witness: WITNESS }, live)).toBeNull();
  expect(await client.createDevice(RESUMED, live)).toMatchObject({ id: ID });
  expect(methods()).toEqual(new Set(['GET', 'POST']));
});
