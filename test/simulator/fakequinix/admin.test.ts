import { describe, expect, it } from 'vitest';
import { adminOf, clientOf, createDevice, createOn, start } from './harness.ts';

describe('the admin part', () => {
  it('wants its own token, but tells everyone that it lives', async () => {
    const fake = await start();
    for (const token of ['', fake.tokens.user]) {
      const response = await fetch(`${fake.adminUrl}/state`, {
        headers: { 'x-fake-admin': token },
      });
      expect(response.status).toBe(401);
    }
    expect((await fetch(`${fake.adminUrl}/healthz`)).status).toBe(200);
    expect((await clientOf(fake)('GET', '/_fake/v1/state')).status).toBe(404);
  });

  it('keeps a journal with secrets masked', async () => {
    const fake = await start();
    const secrets = { userdata: 'geheim-1', customdata: { password: 'geheim-2' } };
    const path = `/projects/${fake.projectId}/devices?include=facility`;
    await clientOf(fake)('POST', path, createOn(fake, 0, secrets));
    await clientOf(fake)('GET', '/nowhere');
    await clientOf(fake, 'nobody')('GET', '/user');
    const { body } = await adminOf(fake)('GET', '/requests?since=0');
    expect(body['requests']).toMatchObject([
      {
        seq: 1,
        method: 'POST',
        route: '/projects/{id}/devices',
        query: { include: 'facility' },
        body: { hostname: 'machine-0', userdata: '***', customdata: '***' },
        status: 201,
        executed: true,
        fate: 'replied',
      },
      { seq: 2, route: '/nowhere', status: 404, executed: false },
      { seq: 3, route: '/user', status: 401, executed: false },
    ]);
    const later = await adminOf(fake)('GET', '/requests?since=2');
    expect(later.body['requests']!.map((one) => one['seq'])).toEqual([3]);
    expect(JSON.stringify([body, await adminOf(fake)('GET', '/state')])).not.toContain('geheim');
    expect(JSON.stringify(fake.requests())).not.toContain('geheim');
  });

  it('shows the state without tokens and passwords', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const { body } = await adminOf(fake)('GET', '/state');
    expect(body['devices']!.map((one) => one['id'])).toEqual([id]);
    expect(body['reservations']).toHaveLength(6);
    const text = JSON.stringify(body);
    for (const token of Object.values(fake.tokens)) expect(text).not.toContain(token);
    expect(text).not.toContain('rootPassword');
  });

  it('shows no token that a fault names', async () => {
    const fake = await start();
    const { user: token, readOnly } = fake.tokens;
    fake.addFault({ match: { token }, effect: { type: 'tokenRevoked', token: readOnly } });
    const { body } = await adminOf(fake)('GET', '/state');
    expect(body['faults']).toMatchObject([
      { match: { token: '***' }, effect: { type: 'tokenRevoked', token: '***' } },
    ]);
    const text = JSON.stringify(body);
    for (const one of Object.values(fake.tokens)) expect(text).not.toContain(one);
    expect(fake.faults()).toMatchObject([{ match: { token }, effect: { token: readOnly } }]);
  });

  it('dates every answer by its own clock', async () => {
    const fake = await start();
    const dateOf = async (answer: Promise<{ headers: Headers }>) =>
      (await answer).headers.get('date');
    expect(await dateOf(clientOf(fake)('GET', '/user'))).toBe('Sat, 01 Aug 2026 10:00:00 GMT');
    const advanced = adminOf(fake)('POST', '/clock/advance', { ms: 90_000 });
    const later = 'Sat, 01 Aug 2026 10:01:30 GMT';
    expect(await dateOf(advanced)).toBe(later);
    expect(await dateOf(clientOf(fake)('GET', '/user'))).toBe(later);
    expect(await dateOf(clientOf(fake)('GET', '/nowhere'))).toBe(later);
    fake.addFault({ times: 1, effect: { type: 'garbage', kind: 'wrongType' } });
    expect(await dateOf(clientOf(fake)('GET', '/user'))).toBe(later);
  });

  it('dates half an answer, too, but leaves a date that a fault gives', async () => {
    const fake = await start();
    const init = { headers: { 'x-auth-token': fake.tokens.user } };
    fake.addFault({ times: 1, effect: { type: 'drop', phase: 'midBody' } });
    const half = await fetch(`${fake.url}/user`, init);
    expect(half.headers.get('date')).toBe('Sat, 01 Aug 2026 10:00:00 GMT');
    await expect(half.text()).rejects.toThrow();
    const wrong = 'Thu, 01 Jan 1970 00:00:00 GMT';
    fake.addFault({ times: 1, effect: { type: 'headers', headers: { Date: wrong } } });
    expect((await fetch(`${fake.url}/user`, init)).headers.get('date')).toBe(wrong);
  });

  it.each(['/metal/v1/user', '/usr', '/devices', 'user'])(
    'refuses a fault for %s, which is no route, and says which there are',
    async (route) => {
      const fake = await start();
      const rule = { match: { route }, effect: { type: 'status', code: 500 } } as const;
      const { status, body } = await adminOf(fake)('POST', '/faults', rule);
      expect(status).toBe(422);
      const [message] = body['errors'] as unknown as string[];
      expect(message).toContain(`match.route: no route ${route}; there are `);
      expect(message).toContain('/devices/{id}/actions');
      expect(() => fake.addFault(rule)).toThrow('/devices/{id}/actions');
      expect(fake.faults()).toEqual([]);
    },
  );

  it('forces states and lets strangers in', async () => {
    const fake = await start();
    const admin = adminOf(fake);
    const id = await createDevice(fake);
    const forced = await admin('POST', `/devices/${id}/state`, { state: 'failed' });
    expect([forced.status, fake.devices()[0]!.state]).toEqual([200, 'failed']);
    expect((await admin('POST', `/devices/${id}/state`, { state: 'Odd one' })).status).toBe(422);
    expect((await admin('POST', '/devices/none/state', { state: 'failed' })).status).toBe(404);
    const [taken, free] = fake.reservations();
    expect((await admin('POST', `/reservations/${taken!.id}/snatch`)).status).toBe(409);
    const stranger = await admin('POST', `/reservations/${free!.id}/snatch`);
    expect(stranger.body['hostname']).toMatch(/^stranger-/);
    expect((await admin('GET', '/invariants')).body).toEqual({ violations: [] });
  });

  it('adds and changes reservations', async () => {
    const fake = await start();
    const admin = adminOf(fake);
    const made = await admin('POST', '/reservations', { plan: 'c3.small.x86', facility: 'ny5' });
    expect(made.status).toBe(201);
    expect((await admin('POST', '/reservations', { plan: 'nothing' })).status).toBe(422);
    const path = `/reservations/${String(made.body['id'])}`;
    await admin('PATCH', path, { provisionable: false });
    const { body } = await clientOf(fake)('GET', `/hardware-${path.slice(1)}`);
    expect(body).toMatchObject({ provisionable: false, plan: { slug: 'c3.small.x86' } });
  });

  it('moves the clock', async () => {
    const fake = await start();
    await createDevice(fake);
    const { body } = await adminOf(fake)('POST', '/clock/advance', { ms: 245_000 });
    expect(body['nowMs']).toBe(Date.parse('2026-08-01T10:04:05Z'));
    expect(fake.devices()[0]!.state).toBe('active');
    expect((await adminOf(fake)('GET', '/clock')).body).toEqual(body);
  });

  it('replaces the world', async () => {
    const fake = await start();
    await createDevice(fake);
    const wrong = await adminOf(fake)('POST', '/reset', { reservations: -1 });
    expect(wrong.status).toBe(422);
    expect(fake.devices()).toHaveLength(1);
    const reply = await adminOf(fake)('POST', '/reset', { reservations: 2 });
    expect(reply.body['projectId']).toBe(fake.projectId);
    expect([fake.devices(), fake.reservations().length]).toEqual([[], 2]);
    await expect(createDevice(fake)).resolves.toEqual(expect.any(String));
    await fake.advance(245_000);
    expect(fake.devices()[0]!.state).toBe('active');
  });
});
