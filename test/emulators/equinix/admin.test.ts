import { expect, test } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, adminOf, clientOf, createDevice, createOn, start } from './harness.ts';

const RESERVATION = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';
type Row = readonly [ask: string, status: number, shown?: object | null, body?: object];
/** One after another, on an emulator with a device on the first of six reservations. */
const ANSWERS: readonly Row[] = [
  ['GET /invariants', 200, { violations: [] }],
  ['POST /devices/{device}/state', 200, { state: 'weird' }, { state: 'weird' }],
  ['POST /devices/{device}/state', 422, null, { state: 'Odd one' }],
  ['POST /devices/none/state', 404, null, { state: 'failed' }],
  ['POST /reservations/{taken}/snatch', 409],
  ['POST /reservations/{free}/snatch', 201, { hostname: expect.stringMatching(/^stranger-/) }],
  ['POST /devices/{device}/state', 200, { state: 'deleted' }, { state: 'deleted' }],
  ['GET /clock', 200, { mode: 'manual' }],
  ['POST /clock/advance', 200, { nowMs: Date.UTC(2026, 7, 1, 10, 4) }, { ms: 240_000 }],
  ['POST /clock/advance', 422, null, { ms: -1 }],
  ['POST /clock/advance', 422, null, { ms: '1' }],
  ['POST /reservations', 201, null, { id: RESERVATION, spare: true, plan: 'c3.small.x86' }],
  ['POST /reservations', 422, { errors: ['id: is taken already'] }, { id: RESERVATION }],
  ['POST /reservations', 422, null, { plan: 'nothing' }],
  [`PATCH /reservations/${RESERVATION}`, 200, null, { spare: false, needOfService: true }],
  [`PATCH /reservations/${RESERVATION}`, 200, null, { terminationTime: '2027-01-01T00:00:00Z' }],
  [`PATCH /reservations/${RESERVATION}`, 422, null, { spare: 'no' }],
  [`PATCH /reservations/${RESERVATION}`, 422, null, { planet: 'x' }],
  [`PATCH /reservations/${RESERVATION}`, 422, null, { terminationTime: 'soon' }],
  ['PATCH /reservations/none', 404, null, {}],
  ['PATCH /knobs', 200, { maxPerPage: 3 }, { maxPerPage: 3 }],
  ['PATCH /knobs', 422, null, { maxPerPage: 0 }],
  ['PATCH /knobs', 422, null, { unknown: 1 }],
  ['GET /knobs', 200, { maxPerPage: 3, hrefPrefix: '' }],
  ['GET /requests?since=yesterday', 422],
  ['POST /faults', 201, { id: 'fault-1' }, { effect: { type: 'status', code: 418 } }],
  ['POST /faults', 422, null, { effect: { type: 'status', code: 'x' } }],
  ['GET /faults', 200, { faults: [{ id: 'fault-1', seen: 0, applied: 0 }] }],
  ['DELETE /faults/fault-1', 204],
  ['DELETE /faults/fault-1', 404],
  ['DELETE /faults', 204],
];

test('answers on its admin routes', async () => {
  const fake = await start();
  const device = await createDevice(fake);
  const [taken, free] = fake.reservations().map(({ id }) => id);
  const names: Record<string, string> = { device, taken: taken!, free: free! };
  for (const [ask, status, shown, body] of ANSWERS) {
    const filled = ask.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);
    const [method, path] = filled.split(' ') as [string, string];
    const reply = await adminOf(fake)(method, path, body);
    expect([ask, body, reply.status]).toEqual([ask, body, status]);
    if (shown) expect(reply.body).toMatchObject(shown);
  }
  const { body } = await clientOf(fake)('GET', `/hardware-reservations/${RESERVATION}`);
  expect(body).toMatchObject({
    ...{ spare: false, need_of_service: true, provisionable: false },
    ...{ plan: { slug: 'c3.small.x86' }, termination_time: '2027-01-01T00:00:00Z' },
  });
  await expect(createDevice(fake)).resolves.toEqual(expect.any(String));
});

test('wants its own token, but tells everyone that it lives', async () => {
  const fake = await start();
  for (const token of ['', fake.tokens.user]) {
    const init = { headers: { 'x-fake-admin': token } };
    expect((await fetch(`${fake.adminUrl}/state`, init)).status).toBe(401);
  }
  expect((await fetch(`${fake.adminUrl}/healthz`)).status).toBe(200);
  expect((await clientOf(fake)('GET', '/_fake/v1/state')).status).toBe(404);
  const real = await start({ clock: 'real' });
  expect((await adminOf(real)('POST', '/clock/advance', { ms: 1 })).status).toBe(409);
});

test('tells in journal and state everything but tokens, passwords and user data', async () => {
  const fake = await start();
  const { user: token, readOnly } = fake.tokens;
  fake.addFault({ match: { token }, effect: { type: 'tokenRevoked', token: readOnly } });
  const secret = { userdata: 'geheim', customdata: { password: 'geheim' } };
  const path = `/projects/${fake.projectId}/devices?include=facility&userdata=geheim`;
  const call = clientOf(fake, fake.tokens.project);
  const made = await call('POST', path, createOn(fake, 0, secret));
  await call('PATCH', `/devices/${made.body['id']}`, { ...secret, root_password: 'geheim' });
  await call('POST', '/nowhere', { token: 'geheim', nested: [{ userdata: 'geheim' }] });
  const device = (await call('GET', `/devices/${made.body['id']}`)).body;
  const { body } = await adminOf(fake)('GET', '/requests?since=0');
  expect(body['requests']).toMatchObject([
    {
      ...{ seq: 1, method: 'POST', route: '/projects/{id}/devices', status: 201 },
      query: { include: 'facility', userdata: '***' },
      body: { hostname: 'machine-0', userdata: '***', customdata: '***' },
      ...{ executed: true, fate: 'replied', doneAtMs: expect.any(Number) as number },
    },
    { seq: 2, route: '/devices/{id}', status: 200 },
    { seq: 3, route: '/nowhere', status: 404, executed: false },
    { seq: 4 },
  ]);
  const later = (await adminOf(fake)('GET', '/requests?since=3')).body['requests']!;
  expect(later.map((one) => one['seq'])).toEqual([4]);
  const state = (await adminOf(fake)('GET', '/state')).body;
  expect(state['faults']).toMatchObject([
    { match: { token: '***' }, effect: { type: 'tokenRevoked', token: '***' } },
  ]);
  expect(fake.faults()).toMatchObject([{ match: { token }, effect: { token: readOnly } }]);
  const told = JSON.stringify([body, state, fake.requests()]);
  const password = String(device['root_password']);
  for (const one of ['geheim', password, 'rootPassword', ...Object.values(fake.tokens)]) {
    expect(told).not.toContain(one);
  }
});

testRows([
  [undefined, 200],
  [{ type: 'garbage', kind: 'wrongType' }, 200],
  [{ type: 'status', code: 500 }, 500],
  [{ type: 'drop', phase: 'midBody' }, 200],
] as const)('dates an answer that %j spoils by its own clock', async (effect, status) => {
  const fake = await start();
  await adminOf(fake)('POST', '/clock/advance', { ms: 90_000 });
  if (effect) fake.addFault({ effect });
  const reply = await fetch(`${fake.url}/user`, { headers: { 'x-auth-token': fake.tokens.user } });
  const date = 'Sat, 01 Aug 2026 10:01:30 GMT';
  expect([reply.status, reply.headers.get('date')]).toEqual([status, date]);
  await reply.text().catch(() => undefined);
});

test('replaces the world, but not knobs that the new one leaves out, nor the count of requests', async () => {
  const fake = await start({ knobs: { maxPerPage: 3 } });
  const admin = adminOf(fake);
  await createDevice(fake);
  expect((await admin('POST', '/reset', { reservations: -1 })).status).toBe(422);
  expect(fake.devices()).toHaveLength(1);
  await admin('PATCH', '/knobs', { hrefPrefix: '/metal/v1' });
  const world = { knobs: { strictLocation: true }, timings: { queuedMs: 1 }, reservations: 2 };
  const { body } = await admin('POST', '/reset', world);
  expect([body['projectId'], fake.devices(), fake.reservations().length]).toEqual([
    ...[fake.projectId, [], 2],
  ]);
  const knobs = { maxPerPage: 3, hrefPrefix: '', strictLocation: true };
  expect((await admin('GET', '/knobs')).body).toMatchObject(knobs);
  const path = `/projects/${fake.projectId}/devices`;
  expect((await clientOf(fake)('POST', path, createOn(fake))).status).toBe(422);
  await createDevice(fake, 0, { metro: 'fr' });
  await fake.advance(1);
  expect(fake.devices()[0]!.state).toBe('provisioning');
  expect(fake.requests().map(({ seq }) => seq)).toEqual([1, 2, 3]);
  await fake.advance(ACTIVE_MS);
  const devices = Array.from({ length: 9_000 }, (_, i) => ({
    hostname: `host-${i}`,
    tags: ['a-tag-that-makes-this-a-long-body-of-more-than-one-megabyte', `number-${i}`],
  }));
  const big = await admin('POST', '/reset', { devices });
  expect([big.status, fake.devices().length]).toEqual([200, 9_000]);
});
