import { describe, expect, it } from 'vitest';
import type { Fakequinix } from '../../../src/simulator/fakequinix/options.ts';
import { adminOf, clientOf, createDevice, createOn, KEY, start } from './harness.ts';

const creates = { method: 'POST', route: '/projects/{p}/devices' };
const create = (fake: Fakequinix, index = 0) =>
  clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, createOn(fake, index));
const last = (fake: Fakequinix) => fake.requests().at(-1)!;

describe('faults', () => {
  it('status: refuses before, or denies what was done', async () => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect: { type: 'status', code: 503 } });
    expect((await create(fake)).status).toBe(503);
    expect([fake.devices().length, last(fake).executed]).toEqual([0, false]);
    fake.addFault({
      match: creates,
      times: 1,
      effect: { type: 'status', code: 500, executed: true, body: { error: 'oops' } },
    });
    const reply = await create(fake);
    expect([reply.status, reply.body]).toEqual([500, { error: 'oops' }]);
    expect([fake.devices().length, last(fake).executed]).toEqual([1, true]);
    expect((await create(fake, 1)).status).toBe(201);
  });

  it.each([
    ['before', 0],
    ['after', 1],
    ['midBody', 1],
  ] as const)('drop %s leaves %i devices', async (phase, devices) => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect: { type: 'drop', phase } });
    await expect(create(fake)).rejects.toThrow();
    expect(fake.devices()).toHaveLength(devices);
    expect(last(fake)).toMatchObject({ fate: 'dropped', status: null, executed: devices === 1 });
    expect((await create(fake, 1)).status).toBe(201);
  });

  it('hang: nothing comes until the client leaves', async () => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect: { type: 'hang', phase: 'after' } });
    const stop = new AbortController();
    const path = `/projects/${fake.projectId}/devices`;
    const hanging = clientOf(fake)('POST', path, createOn(fake), { signal: stop.signal });
    const refused = expect(hanging).rejects.toThrow();
    await expect.poll(() => last(fake)?.fate).toBe('hung');
    stop.abort();
    await refused;
    expect(fake.devices()).toHaveLength(1);
  });

  it('hang does not hold up the close', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'hang', phase: 'before' } });
    const hanging = expect(clientOf(fake)('GET', '/user')).rejects.toThrow();
    await expect.poll(() => last(fake)?.fate).toBe('hung');
    await fake.close();
    await hanging;
  });

  it('latency: waits on the clock of the emulator', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'latency', ms: 5_000 } });
    let answered = false;
    const waiting = clientOf(fake)('GET', '/user').then(() => (answered = true));
    await expect.poll(() => last(fake)?.faults.length).toBe(1);
    await fake.advance(4_999);
    expect(answered).toBe(false);
    await fake.advance(1);
    await waiting;
    expect(answered).toBe(true);
  });

  it('rateLimit: counts genuinely and says when to come back', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'rateLimit', limit: 2, windowMs: 7_000 } });
    const call = clientOf(fake);
    const first = await call('GET', '/user');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
    expect((await call('GET', '/user')).status).toBe(200);
    const refused = await call('GET', '/user');
    expect([refused.status, refused.body]).toEqual([429, { errors: ['Too many requests'] }]);
    expect(refused.headers.get('retry-after')).toBe('7');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(refused.headers.get('x-ratelimit-reset')).toBe(
      String(Date.parse('2026-08-01T10:00:07Z') / 1_000),
    );
    expect((await clientOf(fake, fake.tokens.project)('GET', '/user')).status).toBe(200);
    await fake.advance(7_000);
    expect((await call('GET', '/user')).status).toBe(200);
  });

  it('rateLimit: can give a date, or nothing', async () => {
    for (const [retryAfter, expected] of [
      ['date', 'Sat, 01 Aug 2026 10:00:07 GMT'],
      ['none', null],
    ] as const) {
      const fake = await start();
      fake.addFault({ effect: { type: 'rateLimit', limit: 0, windowMs: 7_000, retryAfter } });
      const refused = await clientOf(fake)('GET', '/user');
      expect(refused.headers.get('retry-after')).toBe(expected);
    }
  });

  it('race beforeCheck: the check already sees a stranger', async () => {
    const fake = await start();
    const reservationId = fake.reservations()[0]!.id;
    fake.addFault({ effect: { type: 'race', reservationId, when: 'beforeCheck' } });
    const path = `/hardware-reservations/${reservationId}?include=device`;
    const { body } = await clientOf(fake)('GET', path);
    expect(body['device']).toMatchObject({
      hostname: expect.stringMatching(/^stranger-/),
      tags: [],
      state: 'active',
    });
  });

  it('race betweenCheckAndCreate: the check is clean, the create refused', async () => {
    const fake = await start();
    const reservationId = fake.reservations()[0]!.id;
    fake.addFault({ effect: { type: 'race', reservationId, when: 'betweenCheckAndCreate' } });
    const check = await clientOf(fake)('GET', `/hardware-reservations/${reservationId}`);
    expect(check.body['device']).toBeNull();
    expect((await create(fake)).status).toBe(422);
    expect(fake.devices().map((one) => one.hostname.slice(0, 9))).toEqual(['stranger-']);
  });

  it('race afterLostReply: the stranger comes after a create that never arrived', async () => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect: { type: 'drop', phase: 'before' } });
    fake.addFault({ effect: { type: 'race', when: 'afterLostReply' } });
    await expect(create(fake)).rejects.toThrow();
    expect(fake.devices().map((one) => one.hostname.slice(0, 9))).toEqual(['stranger-']);
    expect(fake.violations()).toEqual([]);
  });

  it('stale: reservation and device are seen late, by list and alone', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: 30_000 } });
    const id = await createDevice(fake, 0, { tags: ['witness'] });
    const see = async () => {
      const call = clientOf(fake);
      const one = await call('GET', `/hardware-reservations/${fake.reservations()[0]!.id}`);
      const list = await call('GET', `/projects/${fake.projectId}/devices?tag=witness`);
      const device = await call('GET', `/devices/${id}`);
      return [one.body['provisionable'], list.body['devices']!.length, device.status];
    };
    expect(await see()).toEqual([true, 0, 404]);
    expect((await create(fake)).status).toBe(422);
    await fake.advance(30_000);
    expect(await see()).toEqual([false, 1, 200]);
  });

  it.each(['truncated', 'notJson', 'html'] as const)(
    'garbage %s cannot be parsed',
    async (kind) => {
      const fake = await start();
      fake.addFault({ times: 1, effect: { type: 'garbage', kind } });
      await expect(clientOf(fake)('GET', '/user')).rejects.toThrow(SyntaxError);
      expect((await clientOf(fake)('GET', '/user')).status).toBe(200);
    },
  );

  it('garbage wrongType and redirect', async () => {
    const fake = await start();
    fake.addFault({ times: 1, effect: { type: 'garbage', kind: 'wrongType' } });
    fake.addFault({ times: 1, effect: { type: 'garbage', kind: 'redirect' } });
    expect((await clientOf(fake)('GET', '/user')).body).toBe('unexpected');
    const redirect = await clientOf(fake)('GET', '/user');
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/elsewhere']);
    expect(fake.requests().map(({ status }) => status)).toEqual([200, 302]);
  });

  it.each([
    ['omit', (ids: unknown[], total: unknown) => ids.length === 5 && total === 6],
    ['duplicate', (ids: unknown[]) => ids.length === 6 && new Set(ids).size <= 6],
    ['shuffle', (ids: unknown[]) => new Set(ids).size === 6],
    ['totalDrift', (_ids: unknown[], total: unknown) => Math.abs(Number(total) - 6) <= 1],
  ] as const)('unstablePages %s', async (mode, fits) => {
    const fake = await start();
    fake.addFault({ effect: { type: 'unstablePages', mode } });
    const path = `/projects/${fake.projectId}/hardware-reservations`;
    const pages = await Promise.all(Array.from({ length: 8 }, () => clientOf(fake)('GET', path)));
    const shapes = pages.map(({ body }) => ({
      ids: body['hardware_reservations']!.map((one) => one['id']),
      total: body['meta']!['total'],
    }));
    expect(shapes.every(({ ids, total }) => fits(ids, total))).toBe(true);
    const plain = fake.reservations().map((one) => one.id);
    const differs = shapes.some(
      ({ ids, total }) => ids.join() !== plain.join() || Number(total) !== 6,
    );
    expect(differs).toBe(true);
  });

  it('keyCreate404, deviceGone403, tokenRevoked', async () => {
    const fake = await start();
    const call = clientOf(fake);
    fake.addFault({ effect: { type: 'keyCreate404' } });
    const keys = `/projects/${fake.projectId}/ssh-keys`;
    expect((await call('POST', keys, { label: 'x', key: KEY })).status).toBe(404);
    expect((await call('GET', keys)).body['ssh_keys']).toHaveLength(1);

    const id = await createDevice(fake);
    const other = await createDevice(fake, 1);
    fake.addFault({ match: { deviceId: id }, effect: { type: 'deviceGone403' } });
    expect((await call('GET', `/devices/${id}`)).status).toBe(403);
    expect((await call('GET', `/devices/${other}`)).status).toBe(200);

    fake.addFault({ effect: { type: 'tokenRevoked', token: fake.tokens.user } });
    expect((await clientOf(fake, fake.tokens.project)('GET', '/user')).status).toBe(200);
    for (const _ of [1, 2]) expect((await call('GET', '/user')).status).toBe(401);
  });

  it('strike the n-th, every n-th, for one device or token, and so often', async () => {
    const fake = await start();
    const call = clientOf(fake);
    const statuses = async (count: number) => {
      const seen: number[] = [];
      for (let i = 0; i < count; i++) seen.push((await call('GET', '/user')).status);
      return seen;
    };
    const effect = { type: 'status', code: 500 } as const;
    fake.addFault({ match: { nth: 2 }, effect });
    expect(await statuses(3)).toEqual([200, 500, 200]);
    fake.clearFaults();
    fake.addFault({ match: { every: 2 }, times: 2, effect });
    expect(await statuses(6)).toEqual([200, 500, 200, 500, 200, 200]);
    fake.clearFaults();
    fake.addFault({ match: { token: fake.tokens.project }, effect });
    expect(await statuses(1)).toEqual([200]);
    fake.clearFaults();
    fake.addFault({ match: { probability: 0.5 }, effect });
    expect(new Set(await statuses(20))).toEqual(new Set([200, 500]));
  });

  it('are managed over HTTP too', async () => {
    const fake = await start();
    const admin = adminOf(fake);
    const made = await admin('POST', '/faults', { effect: { type: 'status', code: 418 } });
    expect(made.status).toBe(201);
    expect((await clientOf(fake)('GET', '/user')).status).toBe(418);
    const list = await admin('GET', '/faults');
    expect(list.body['faults']).toMatchObject([{ id: made.body['id'], seen: 1, applied: 1 }]);
    expect((await admin('DELETE', `/faults/${String(made.body['id'])}`)).status).toBe(204);
    expect((await admin('DELETE', `/faults/${String(made.body['id'])}`)).status).toBe(404);
    expect((await clientOf(fake)('GET', '/user')).status).toBe(200);
    const wrong = await admin('POST', '/faults', { effect: { type: 'status', code: 'x' } });
    expect([wrong.status, wrong.body['errors']!.length]).toEqual([422, 1]);
    await admin('POST', '/faults', { effect: { type: 'status', code: 418 } });
    expect((await admin('DELETE', '/faults')).status).toBe(204);
    expect(fake.faults()).toEqual([]);
  });
});
