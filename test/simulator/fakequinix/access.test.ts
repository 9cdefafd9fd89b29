import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { clientOf, createDevice, createOn, KEY, start } from './harness.ts';

const twoProjects = parseWorld({
  organizations: [{ name: 'ours' }, { name: 'theirs' }],
  projects: [
    { name: 'a', organization: 'ours' },
    { name: 'b', organization: 'ours' },
    { name: 'c', organization: 'theirs' },
  ],
  tokens: [{ token: 'other-token', scope: 'user', organization: 'theirs' }],
  reservations: [{ project: 'a' }, { project: 'b' }, { project: 'c' }],
});

describe('who may call', () => {
  it.each([null, 'nobody', ''])('refuses the token %j with 401', async (token) => {
    const fake = await start();
    const reply = await clientOf(fake, token)('GET', '/user');
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual({ error: 'Invalid authentication token' });
  });

  it('lets a read-only token read but change nothing', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const call = clientOf(fake, fake.tokens.readOnly);
    expect((await call('GET', `/devices/${id}`)).status).toBe(200);
    const mutations = [
      ['POST', `/projects/${fake.projectId}/devices`],
      ['PUT', `/devices/${id}`],
      ['DELETE', `/devices/${id}`],
      ['POST', `/devices/${id}/actions`],
      ['POST', '/ssh-keys'],
      ['POST', `/hardware-reservations/${fake.reservations()[1]!.id}/move`],
    ] as const;
    for (const [method, path] of mutations) {
      const reply = await call(method, path, {});
      expect([method, path, reply.status]).toEqual([method, path, 403]);
    }
    expect(fake.devices()).toHaveLength(1);
  });

  it('hides the objects of other projects from a project-scoped token', async () => {
    const fake = await start({ world: twoProjects });
    const [a, b] = fake.reservations();
    const call = clientOf(fake, fake.tokens.project);
    expect((await call('GET', `/hardware-reservations/${a!.id}`)).status).toBe(200);
    expect((await call('GET', `/hardware-reservations/${b!.id}`)).status).toBe(404);
    expect((await call('GET', `/projects/${b!.projectId}/devices`)).status).toBe(404);
    const projects = await call('GET', '/projects');
    expect(projects.body['projects']!.map((one) => one['name'])).toEqual(['a']);
  });

  it('tells a user-scoped token that another organisation is not for it', async () => {
    const fake = await start({ world: twoProjects });
    const [a, , c] = fake.reservations();
    const device = await createDevice(fake);
    const foreign = clientOf(fake, 'other-token');
    const reply = await foreign('GET', `/devices/${device}`);
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual({ errors: ['You are not authorized to view this device'] });
    expect((await foreign('GET', `/hardware-reservations/${a!.id}`)).status).toBe(403);
    expect((await foreign('GET', `/hardware-reservations/${c!.id}`)).status).toBe(200);
  });

  it('A: refuses what is of another organisation with declared statuses alone', async () => {
    const fake = await start({ world: twoProjects });
    const foreign = clientOf(fake, 'other-token');
    const keys = `/projects/${fake.projectId}/ssh-keys`;
    expect((await foreign('GET', keys)).status).toBe(404);
    expect((await foreign('POST', keys, { label: 'x', key: KEY })).status).toBe(404);
    for (const organization of [fake.organizationId, 'nobody']) {
      const reply = await foreign('POST', '/projects', {
        name: 'x',
        organization_id: organization,
      });
      expect(reply.status).toBe(422);
      expect(reply.body['errors']![0]).toMatch(/^organization_id: /);
    }
    const [own] = (await foreign('GET', '/organizations')).body['organizations']!;
    const sent = { name: 'x', organization_id: own!['id'] };
    expect((await foreign('POST', '/projects', sent)).status).toBe(201);
  });

  it('shows the root password to who owns the device, for a day', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const password = async (token?: string) =>
      (await clientOf(fake, token)('GET', `/devices/${id}`)).body['root_password'];
    expect(await password()).toEqual(expect.any(String));
    expect(await password(fake.tokens.readOnly)).toBeUndefined();
    await fake.advance(24 * 3_600_000);
    expect(await password()).toBeUndefined();
  });
});

describe('malformed requests', () => {
  it('answers 404 to unknown routes and objects, with one shape', async () => {
    const fake = await start();
    const call = clientOf(fake);
    const none = '00000000-0000-4000-8000-000000000000';
    for (const path of ['/nowhere', `/devices/${none}`, '/devices/short', `/projects/${none}`]) {
      const reply = await call('GET', path);
      expect([path, reply.status, reply.body]).toEqual([path, 404, { errors: ['Not found'] }]);
    }
  });

  it('A: says that what it answers is JSON, and of nothing that it is anything', async () => {
    const fake = await start();
    const typeOf = async (method: string, path: string, body?: object) =>
      (await clientOf(fake)(method, path, body)).headers.get('content-type');
    const json = 'application/json; charset=utf-8';
    for (const path of ['/user', '/nowhere', `/projects/${fake.projectId}/devices`]) {
      expect(await typeOf('GET', path)).toBe(json);
    }
    const device = `/devices/${await createDevice(fake)}`;
    expect(await typeOf('DELETE', device)).toBe(json);
    await fake.advance(300_000);
    expect(await typeOf('POST', `${device}/actions`, { type: 'reboot' })).toBeNull();
    expect(await typeOf('DELETE', device)).toBeNull();
  });

  it('answers 405 to a known path with another method, and names the right ones', async () => {
    const fake = await start();
    const reply = await clientOf(fake)('DELETE', '/user');
    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toBe('GET');
    expect(reply.body).toEqual({ errors: [expect.any(String)] });
  });

  it('answers 400 to what is not JSON and 422 to what is not an object', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const broken = await clientOf(fake)('POST', path, '{"hostname":');
    expect([broken.status, broken.body]).toEqual([400, { errors: [expect.any(String)] }]);
    for (const body of ['[]', '"text"', '7']) {
      expect((await clientOf(fake)('POST', path, body)).status).toBe(422);
    }
  });

  it('answers 422 naming the field of a wrong type', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const reply = await clientOf(fake)('POST', path, createOn(fake, 0, { tags: 'one' }));
    expect(reply.status).toBe(422);
    expect(reply.body['errors']![0]).toMatch(/^tags: /);
    expect(fake.devices()).toEqual([]);
  });

  it('takes null as absent', async () => {
    const fake = await start();
    const more = { tags: null, project_ssh_keys: null, userdata: null };
    await expect(createDevice(fake, 0, more)).resolves.toEqual(expect.any(String));
  });

  it('tolerates a trailing slash and another base path', async () => {
    const fake = await start({ basePath: '/elsewhere/api/' });
    expect(fake.url).toMatch(/:\d+\/elsewhere\/api$/);
    expect((await clientOf(fake)('GET', '/projects/')).status).toBe(200);
  });
});
