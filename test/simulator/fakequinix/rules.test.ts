import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { adminOf, clientOf, createDevice, createOn, KEY, start } from './harness.ts';

const none = '00000000-0000-4000-8000-000000000000';
const ACTIVE_MS = 245_000;

describe('create', () => {
  it.each([
    [{ plan: 'x9.huge' }, /^plan: /],
    [{ plan: undefined }, /^plan: /],
    [{ operating_system: 'minix_1' }, /^operating_system: /],
    [{ operating_system: undefined }, /^operating_system: /],
    [{ hostname: 'under_score' }, /^hostname: /],
    [{ hardware_reservation_id: none }, /^hardware_reservation_id: /],
    [{ plan: 'c3.small.x86' }, /^plan: /],
    [{ project_ssh_keys: [none] }, /no such key/],
    [{ metro: 'xx' }, /^metro: /],
    [{ metro: 'am' }, /^metro: /],
    [{ facility: ['nowhere'] }, /^facility: /],
    [{ hardware_reservation_id: undefined }, /^metro: /],
  ])('refuses %j', async (more, message) => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const reply = await clientOf(fake)('POST', path, createOn(fake, 0, more));
    expect(reply.status).toBe(422);
    expect(reply.body['errors']!.join()).toMatch(message);
    expect(fake.devices()).toEqual([]);
    expect(fake.reservations()[0]!.deviceId).toBeNull();
  });

  it('refuses a reservation by short id or of another project', async () => {
    const world = parseWorld({
      projects: [{ name: 'a' }, { name: 'b' }],
      reservations: [{ project: 'a' }, { project: 'b' }],
    });
    const fake = await start({ world });
    const [mine, other] = fake.reservations();
    for (const hardware_reservation_id of [mine!.id.slice(0, 8), other!.id]) {
      const body = createOn(fake, 0, { hardware_reservation_id });
      const reply = await clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, body);
      expect(reply.status).toBe(422);
    }
  });

  it('refuses a reservation that is occupied or withdrawn', async () => {
    const world = parseWorld({ reservations: [{}, { provisionable: false }, { spare: true }] });
    const fake = await start({ world });
    await createDevice(fake, 0);
    for (const index of [0, 1, 2]) {
      const path = `/projects/${fake.projectId}/devices`;
      const reply = await clientOf(fake)('POST', path, createOn(fake, index));
      expect([index, reply.status]).toEqual([index, 422]);
      expect(reply.body['errors']![0]).toContain('Server is not provisionable');
    }
  });

  it('wants a location even with a reservation under the knob', async () => {
    const fake = await start({ knobs: { strictLocation: true } });
    const path = `/projects/${fake.projectId}/devices`;
    expect((await clientOf(fake)('POST', path, createOn(fake, 0))).status).toBe(422);
    await expect(createDevice(fake, 0, { metro: 'fr' })).resolves.toEqual(expect.any(String));
  });

  it('allows equal hostnames, and devices on demand', async () => {
    const fake = await start();
    await createDevice(fake, 0, { hostname: 'same' });
    await createDevice(fake, 1, { hostname: 'same' });
    const id = await createDevice(fake, 0, { hardware_reservation_id: null, metro: 'am' });
    const { body } = await clientOf(fake)('GET', `/devices/${id}?include=facility`);
    expect(body['facility']!['code']).toBe('am6');
    expect(body).not.toHaveProperty('hardware_reservation');
  });

  it('gives one reservation to one of two who ask at the same time', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => clientOf(fake)('POST', path, createOn(fake, 0))),
    );
    const statuses = replies.map((reply) => reply.status).toSorted();
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 422)]);
    expect(fake.devices()).toHaveLength(1);
    expect(fake.violations()).toEqual([]);
  });

  it('picks the lowest free id for next-available, and has none in the end', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const inFrankfurt = fake.reservations().filter((one) => one.facility === 'fr2');
    const expected = inFrankfurt.map((one) => one.id).toSorted();
    const more = { hardware_reservation_id: 'next-available', metro: 'fr' };
    for (const id of expected) {
      await createDevice(fake, 0, more);
      expect(fake.devices().at(-1)!.reservationId).toBe(id);
    }
    const reply = await clientOf(fake)('POST', path, createOn(fake, 0, more));
    expect(reply.status).toBe(503);
    expect(reply.body['errors']![0]).toMatch(/^There are no available hardware reservations/);
  });
});

describe('update', () => {
  it.each(['PUT', 'PATCH'])('changes only what %s names', async (method) => {
    const fake = await start();
    const id = await createDevice(fake, 0, { tags: ['a'] });
    const change = { hostname: 'deleted-machine-0', locked: true, description: null };
    const reply = await clientOf(fake)(method, `/devices/${id}?include=facility`, change);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      hostname: 'deleted-machine-0',
      locked: true,
      tags: ['a'],
      facility: { code: 'fr2' },
    });
  });

  it('refuses a bad hostname and a wrong type', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    for (const change of [{ hostname: 'a b' }, { locked: 'yes' }, { tags: [1] }]) {
      expect((await clientOf(fake)('PUT', `/devices/${id}`, change)).status).toBe(422);
    }
    expect(fake.devices()[0]!.hostname).toBe('machine-0');
  });
});

describe('delete', () => {
  it('waits for the end of provisioning, and happens once', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const remove = () => clientOf(fake)('DELETE', `/devices/${id}`, { force_delete: false });
    for (const ms of [0, 5_000]) {
      await fake.advance(ms);
      const reply = await remove();
      expect(reply.status).toBe(422);
      expect(reply.body['errors']).toEqual(['Cannot delete a device while it is provisioning']);
    }
    await fake.advance(ACTIVE_MS);
    const done = await remove();
    expect([done.status, done.body]).toEqual([204, undefined]);
    expect((await remove()).status).toBe(404);
  });

  it('refuses a locked device', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, { locked: true });
    await fake.advance(ACTIVE_MS);
    const reply = await clientOf(fake)('DELETE', `/devices/${id}`);
    expect([reply.status, reply.body]).toEqual([422, { errors: ['Cannot delete a locked item'] }]);
  });
});

describe('actions', () => {
  const allowed: Record<string, readonly string[]> = {
    reboot: ['active', 'failed'],
    rescue: ['active'],
    power_off: ['active'],
    power_on: ['inactive'],
    reinstall: ['active', 'inactive', 'failed'],
  };
  const states = [
    'queued',
    'provisioning',
    'active',
    'inactive',
    'failed',
    'reinstalling',
  ] as const;

  it.each(Object.entries(allowed))('%s is taken in %j only', async (type, takes) => {
    const fake = await start();
    const id = await createDevice(fake);
    for (const state of states) {
      fake.setDeviceState(id, state);
      const reply = await clientOf(fake)('POST', `/devices/${id}/actions`, { type });
      expect([state, reply.status]).toEqual([state, takes.includes(state) ? 202 : 422]);
      if (reply.status === 202) expect(reply.body).toBeUndefined();
    }
  });

  it('refuses unknown ones, and a reinstall that cannot be', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS);
    const act = async (body: object) =>
      (await clientOf(fake)('POST', `/devices/${id}/actions`, body)).status;
    expect(await act({ type: 'dance' })).toBe(422);
    expect(await act({})).toBe(422);
    expect(await act({ type: 'reinstall', operating_system: 'minix_1' })).toBe(422);
    expect(await act({ type: 'reinstall', ipxe_script_url: 'http://127.0.0.1/x' })).toBe(422);
    await clientOf(fake)('PUT', `/devices/${id}`, { locked: true });
    expect(await act({ type: 'reinstall' })).toBe(422);
    expect(await act({ type: 'reboot' })).toBe(202);
  });
});

describe('what a change is told', () => {
  it('may stand in the query, where the body says nothing else', async () => {
    const fake = await start();
    const path = `/devices/${await createDevice(fake)}`;
    await fake.advance(ACTIVE_MS);
    expect((await clientOf(fake)('POST', `${path}/actions?type=power_off`)).status).toBe(202);
    expect(fake.devices()[0]!.state).toBe('powering_off');
    const change = { description: 'from the body' };
    const query = 'description=from+the+query&locked=True&userdata=secret';
    const changed = await clientOf(fake)('PUT', `${path}?${query}`, change);
    expect(changed.body).toMatchObject({ ...change, locked: true, userdata: 'secret' });
    expect(fake.requests().at(-1)!.query['userdata']).toBe('***');
    const twice = await clientOf(fake)('DELETE', `${path}?force_delete=false`);
    expect(twice.body['errors']).toEqual(['Cannot delete a locked item']);
  });
});

describe('move', () => {
  const world = parseWorld({
    organizations: [{ name: 'ours' }, { name: 'theirs' }],
    projects: [{ name: 'a' }, { name: 'b' }, { name: 'c', organization: 'theirs' }],
    reservations: [{ count: 2 }, { project: 'b' }, { project: 'c' }],
  });

  it('takes a free reservation to another project of the organisation', async () => {
    const fake = await start({ world });
    const [first, , inB, inC] = fake.reservations();
    const move = async (project_id: string) => {
      const path = `/hardware-reservations/${first!.id}/move`;
      return clientOf(fake)('POST', path, { project_id });
    };
    expect((await move(none)).status).toBe(404);
    expect((await move(inC!.projectId)).status).toBe(403);
    expect((await move(first!.projectId)).status).toBe(201);
    const moved = await move(inB!.projectId);
    expect(moved.status).toBe(201);
    expect(moved.body['project']).toEqual({ href: `/projects/${inB!.projectId}` });
    expect(
      (await clientOf(fake)('POST', `/hardware-reservations/${first!.id}/move`, {})).status,
    ).toBe(422);
  });

  it('refuses one in use, and one that is being cleaned', async () => {
    const fake = await start({ world });
    const [first, , inB] = fake.reservations();
    const id = await createDevice(fake, 0);
    const move = async () => {
      const path = `/hardware-reservations/${first!.id}/move`;
      return (await clientOf(fake)('POST', path, { project_id: inB!.projectId })).status;
    };
    expect(await move()).toBe(422);
    await fake.advance(ACTIVE_MS);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    await fake.advance(61_000);
    expect(await move()).toBe(422);
    await fake.advance(240_000);
    expect(await move()).toBe(201);
  });

  it('activates a spare', async () => {
    const fake = await start({ world: parseWorld({ reservations: [{ spare: true }] }) });
    const [spare] = fake.reservations();
    const reply = await clientOf(fake)('POST', `/hardware-reservations/${spare!.id}/activate`, {});
    expect([reply.status, reply.body['provisionable']]).toEqual([201, true]);
  });
});

describe('projects', () => {
  it('come and go, but not with something in them', async () => {
    const fake = await start();
    const made = await clientOf(fake)('POST', '/projects', { name: 'new' });
    expect(made.status).toBe(201);
    const path = `/projects/${made.body['id']}`;
    expect((await clientOf(fake)('GET', path)).body['name']).toBe('new');
    expect((await clientOf(fake)('DELETE', path)).status).toBe(204);
    expect((await clientOf(fake)('GET', path)).status).toBe(404);
    const refused = await clientOf(fake)('DELETE', `/projects/${fake.projectId}`);
    expect([refused.status, refused.body]).toEqual([
      403,
      { errors: ['Cannot delete a project while it has devices or hardware reservations'] },
    ]);
  });

  it('go while their devices leave, and take keys and tokens with them', async () => {
    const world = parseWorld({
      projects: [{ name: 'home' }, { name: 'new' }],
      tokens: [{ token: 'a-token-of-new', scope: 'project', project: 'new' }],
      keys: [{ label: 'in-new', key: KEY, project: 'new' }],
    });
    const fake = await start({ world });
    const call = clientOf(fake);
    const listed = (await call('GET', '/projects')).body['projects']!;
    const path = `/projects/${listed.find((one) => String(one['name']) === 'new')!['id']}`;
    const made = await call('POST', `${path}/devices`, {
      hostname: 'leaving',
      metro: 'fr',
      plan: 'c3.small.x86',
      operating_system: 'ubuntu_22_04',
    });
    const device = `/devices/${made.body['id']}`;
    await fake.advance(ACTIVE_MS);
    expect((await call('DELETE', path)).status).toBe(403);
    expect((await call('DELETE', device)).status).toBe(204);
    expect((await call('DELETE', path)).status).toBe(204);
    const gone = [path, `${path}/devices`, `${path}/events`, device, `${device}/events`];
    const statuses = gone.map(async (one) => (await call('GET', one)).status);
    expect(await Promise.all(statuses)).toEqual(gone.map(() => 404));
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('GET', '/projects')).body['projects']).toHaveLength(1);
    const inOrganization = await call('GET', `/organizations/${fake.organizationId}/devices`);
    expect([inOrganization.status, inOrganization.body['devices']]).toEqual([200, []]);
    expect((await call('GET', '/ssh-keys')).body['ssh_keys']).toEqual([]);
    expect((await clientOf(fake, 'a-token-of-new')('GET', '/ssh-keys')).status).toBe(401);
    expect([fake.devices().length, fake.violations()]).toEqual([1, []]);
    await fake.advance(60_000);
    expect([fake.devices(), fake.violations()]).toEqual([[], []]);
    const state = await adminOf(fake)('GET', '/state');
    expect(state.body['projects']!.map((one) => one['name'])).toEqual(['home']);
  });
});
