import { describe, expect, it } from 'vitest';
import { adminOf, clientOf, createDevice, KEY, start, text } from './harness.ts';

describe('the clock', () => {
  it('that runs by itself cannot be advanced', async () => {
    const fake = await start({ clock: 'real' });
    const reply = await adminOf(fake)('POST', '/clock/advance', { ms: 1 });
    expect(reply.status).toBe(409);
    expect((await adminOf(fake)('GET', '/clock')).body['mode']).toBe('real');
    await expect(fake.advance(1)).rejects.toThrow('not manual');
  });

  it.each([{ ms: -1 }, { ms: '1' }, {}])('takes no %j', async (body) => {
    const fake = await start();
    expect((await adminOf(fake)('POST', '/clock/advance', body)).status).toBe(422);
  });
});

describe('states', () => {
  it('can be any word, which the API then shows', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    await adminOf(fake)('POST', `/devices/${id}/state`, { state: 'weird' });
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    expect([body['state'], body['actions']]).toEqual(['weird', []]);
    await fake.advance(3_600_000);
    expect(fake.devices()[0]!.state).toBe('weird');
    expect((await clientOf(fake)('DELETE', `/devices/${id}`)).status).toBe(204);
  });

  it('deleted ends a device now', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const reply = await adminOf(fake)('POST', `/devices/${id}/state`, { state: 'deleted' });
    expect(reply.body).toEqual({ id, state: 'deleted' });
    expect((await clientOf(fake)('GET', `/devices/${id}`)).status).toBe(404);
    expect(fake.reservations()[0]!.cleaning).toBe(true);
    await fake.advance(240_000);
    await expect(createDevice(fake)).resolves.toEqual(expect.any(String));
  });
});

describe('reservations', () => {
  it('come with what a world says of them, and change', async () => {
    const fake = await start();
    const id = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';
    const admin = adminOf(fake);
    const wanted = { id, spare: true, createdAt: '2025-02-11T08:00:00Z' };
    expect((await admin('POST', '/reservations', wanted)).status).toBe(201);
    const taken = await admin('POST', '/reservations', wanted);
    expect([taken.status, taken.body['errors']]).toEqual([422, ['id: is taken already']]);
    const path = `/hardware-reservations/${id}`;
    const read = async () => (await clientOf(fake)('GET', path)).body;
    expect(await read()).toMatchObject({
      spare: true,
      provisionable: false,
      created_at: '2025-02-11T08:00:00Z',
    });
    const change = { spare: false, terminationTime: '2027-01-01T00:00:00Z' };
    expect((await admin('PATCH', `/reservations/${id}`, change)).status).toBe(200);
    expect(await read()).toMatchObject({
      provisionable: true,
      termination_time: '2027-01-01T00:00:00Z',
    });
    await admin('PATCH', `/reservations/${id}`, { terminationTime: null, needOfService: true });
    const after = await read();
    expect([after['need_of_service'], after['provisionable']]).toEqual([true, false]);
    expect(after).not.toHaveProperty('termination_time');
  });

  it.each([{ spare: 'no' }, { planet: 'x' }, { terminationTime: 'soon' }])(
    'take no %j',
    async (body) => {
      const fake = await start();
      const path = `/reservations/${fake.reservations()[0]!.id}`;
      expect((await adminOf(fake)('PATCH', path, body)).status).toBe(422);
      expect((await adminOf(fake)('PATCH', '/reservations/none', {})).status).toBe(404);
    },
  );
});

describe('knobs', () => {
  it('are read, turned, kept over a change of the world that names others, and refused', async () => {
    const fake = await start({ knobs: { maxPerPage: 3 } });
    const admin = adminOf(fake);
    expect((await admin('GET', '/knobs')).body).toMatchObject({ maxPerPage: 3, hrefPrefix: '' });
    await admin('PATCH', '/knobs', { hrefPrefix: '/metal/v1', onDemandVanish: 404 });
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?per_page=9`);
    expect(list.body['meta']!['self']!['href']).toMatch(/^\/metal\/v1\//);
    for (const wrong of [{ maxPerPage: 0 }, { hrefPrefix: 'x' }, { unknown: 1 }]) {
      expect((await admin('PATCH', '/knobs', wrong)).status).toBe(422);
    }
    const world = { knobs: { strictLocation: true }, timings: { queuedMs: 1 }, reservations: 1 };
    await admin('POST', '/reset', world);
    expect((await admin('GET', '/knobs')).body).toMatchObject({
      maxPerPage: 3,
      hrefPrefix: '',
      strictLocation: true,
    });
    await createDevice(fake, 0, { metro: 'fr' });
    await fake.advance(1);
    expect(fake.devices()[0]!.state).toBe('provisioning');
  });
});

describe('the journal', () => {
  it('refuses a since that is no number', async () => {
    const fake = await start();
    expect((await adminOf(fake)('GET', '/requests?since=yesterday')).status).toBe(422);
  });

  it('counts on when the world is replaced, and says when each request was over', async () => {
    const fake = await start();
    await clientOf(fake)('GET', '/user');
    await adminOf(fake)('POST', '/reset', { reservations: 1 });
    await clientOf(fake)('GET', '/user');
    const { body } = await adminOf(fake)('GET', '/requests');
    expect(body['requests']!.map((one) => [one['seq'], one['fate'], one['doneAtMs']])).toEqual([
      [1, 'replied', expect.any(Number)],
      [2, 'replied', expect.any(Number)],
    ]);
  });

  it('never holds a token, a password or user data, whatever the route', async () => {
    const fake = await start();
    const call = clientOf(fake);
    const id = await createDevice(fake, 0, { userdata: 'geheim', customdata: { a: 'geheim' } });
    const password = text((await call('GET', `/devices/${id}`)).body['root_password']);
    await call('PATCH', `/devices/${id}`, { userdata: 'geheim', root_password: 'geheim' });
    await call('POST', '/ssh-keys', { label: 'x', key: KEY, private_key: 'geheim' });
    await call('POST', '/nowhere', { token: 'geheim', nested: [{ userdata: 'geheim' }] });
    const seen = JSON.stringify([fake.requests(), (await adminOf(fake)('GET', '/state')).body]);
    for (const secret of ['geheim', password, ...Object.values(fake.tokens)]) {
      expect(seen).not.toContain(secret);
    }
  });
});

describe('a world sent over HTTP', () => {
  it('may be a big one', async () => {
    const fake = await start();
    const devices = Array.from({ length: 9_000 }, (_, i) => ({
      hostname: `host-${i}`,
      tags: ['a-tag-that-makes-this-a-long-body-of-more-than-one-megabyte', `number-${i}`],
    }));
    const reply = await adminOf(fake)('POST', '/reset', { devices });
    expect([reply.status, fake.devices().length]).toEqual([200, 9_000]);
  });
});
