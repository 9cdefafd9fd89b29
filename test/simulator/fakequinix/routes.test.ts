import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { clientOf, createDevice, createOn, KEY, OTHER_KEY, start, text } from './harness.ts';

const ACTIVE_MS = 245_000;

/** One of each thing, and the paths that name them. */
async function furnished() {
  const world = parseWorld({
    projects: [{ name: 'a' }, { name: 'b' }],
    reservations: [{ count: 4 }, { spare: true }],
    keys: [{ label: 'fleet', key: KEY }],
  });
  const fake = await start({ world });
  const call = clientOf(fake);
  const device = await createDevice(fake);
  await fake.advance(ACTIVE_MS);
  const events = await call('GET', `/devices/${device}/events`);
  const keys = await call('GET', '/ssh-keys');
  const projects = await call('GET', '/projects');
  const free = fake.reservations()[1]!.id;
  const paths = {
    project: `/projects/${fake.projectId}`,
    other: text(projects.body['projects']![1]!['id']),
    organization: `/organizations/${fake.organizationId}`,
    device: `/devices/${device}`,
    key: `/ssh-keys/${text(keys.body['ssh_keys']![0]!['id'])}`,
    event: `/events/${text(events.body['events']![0]!['id'])}`,
    free: `/hardware-reservations/${free}`,
  };
  return { fake, call, paths };
}
type Paths = Awaited<ReturnType<typeof furnished>>['paths'];

const table: [string, (paths: Paths) => string, number, ((paths: Paths) => object)?][] = [
  ['GET', () => '/user', 200],
  ['GET', () => '/projects', 200],
  ['POST', () => '/projects', 201, () => ({ name: 'new' })],
  ['GET', (p) => p.project, 200],
  ['PUT', (p) => p.project, 200, () => ({ name: 'renamed' })],
  ['PATCH', (p) => p.project, 200, () => ({ name: 'renamed' })],
  ['DELETE', (p) => `/projects/${p.other}`, 204],
  ['GET', () => '/organizations', 200],
  ['GET', (p) => p.organization, 200],
  ['GET', (p) => `${p.organization}/devices`, 200],
  ['GET', (p) => `${p.organization}/hardware-reservations`, 200],
  ['GET', (p) => `${p.project}/devices`, 200],
  ['GET', (p) => `${p.project}/hardware-reservations`, 200],
  ['GET', (p) => `${p.project}/ssh-keys`, 200],
  ['GET', (p) => `${p.project}/events`, 200],
  ['GET', (p) => p.event, 200],
  ['GET', (p) => p.device, 200],
  ['GET', (p) => `${p.device}/events`, 200],
  ['PUT', (p) => p.device, 200, () => ({ hostname: 'renamed' })],
  ['PATCH', (p) => p.device, 200, () => ({ hostname: 'renamed' })],
  ['POST', (p) => `${p.device}/actions`, 202, () => ({ type: 'reboot' })],
  ['DELETE', (p) => p.device, 204],
  ['DELETE', (p) => p.device, 204, () => ({ force_delete: false })],
  ['DELETE', (p) => `${p.device}?force_delete=true`, 204],
  ['DELETE', (p) => p.device, 422, () => ({ force_delete: 'yes' })],
  ['GET', (p) => p.free, 200],
  ['POST', (p) => `${p.free}/move`, 201, (p) => ({ project_id: p.other })],
  ['POST', (p) => `${p.free}/activate`, 201, () => ({ description: 'ours now' })],
  ['GET', () => '/ssh-keys', 200],
  ['POST', () => '/ssh-keys', 201, () => ({ label: 'x', key: OTHER_KEY })],
  ['POST', (p) => `${p.project}/ssh-keys`, 201, () => ({ label: 'x', key: OTHER_KEY })],
  ['GET', (p) => p.key, 200],
  ['PUT', (p) => p.key, 200, () => ({ label: 'x' })],
  ['PATCH', (p) => p.key, 200, () => ({ label: 'x' })],
  ['DELETE', (p) => p.key, 204],
  ['GET', () => '/plans', 200],
  ['GET', () => '/operating-systems', 200],
  ['GET', () => '/facilities', 200],
  ['GET', () => '/locations/metros', 200],
  ['GET', (p) => `${p.project}/plans`, 200],
  ['GET', () => '/capacity', 200],
  ['POST', () => '/capacity', 200, () => ({ servers: [] })],
  ['GET', () => '/capacity/metros', 200],
  ['POST', () => '/capacity/metros', 200, () => ({ servers: [] })],
];

describe('routes', () => {
  it.each(table)('%s %s answers %i', async (method, path, status, body) => {
    const { fake, call, paths } = await furnished();
    const reply = await call(method, path(paths), body?.(paths));
    expect(reply.status).toBe(status);
    if (status === 202 || status === 204) expect(reply.body).toBeUndefined();
    expect(fake.violations()).toEqual([]);
  });

  it.each(table.filter(([method]) => method === 'GET'))(
    '%s %s cannot be deleted or needs a token',
    async (method, path) => {
      const { fake, paths } = await furnished();
      expect((await clientOf(fake, null)(method, path(paths))).status).toBe(401);
      const wrong = await clientOf(fake)('OPTIONS', path(paths));
      expect(wrong.status).toBe(405);
      expect(wrong.headers.get('allow')).toContain(method);
    },
  );

  it('of an organisation cover all of its projects', async () => {
    const { call, paths } = await furnished();
    await call('POST', `${paths.free}/move`, { project_id: paths.other });
    const total = async (path: string) => (await call('GET', path)).body['meta']!['total'];
    expect(await total(`${paths.organization}/hardware-reservations`)).toBe(5);
    expect(await total(`${paths.project}/hardware-reservations`)).toBe(4);
    expect(await total(`/projects/${paths.other}/hardware-reservations`)).toBe(1);
    expect(await total(`${paths.organization}/devices`)).toBe(1);
    const include = 'include=facility,device,project';
    const { body } = await call('GET', `${paths.organization}/hardware-reservations?${include}`);
    expect(body['hardware_reservations']!.map((one) => one['project']!['name'])).toContain('b');
  });

  it('of a project-scoped token end at its project', async () => {
    const { fake, paths } = await furnished();
    const call = clientOf(fake, fake.tokens.project);
    await clientOf(fake)('POST', `${paths.free}/move`, { project_id: paths.other });
    const list = await call('GET', `${paths.organization}/hardware-reservations`);
    expect(list.body['meta']!['total']).toBe(4);
    expect((await call('GET', paths.free)).status).toBe(404);
    expect((await call('GET', paths.event)).status).toBe(200);
    expect((await call('POST', '/projects', { name: 'x' })).status).toBe(403);
    expect((await call('DELETE', paths.project)).status).toBe(403);
  });

  it('show the owner of a key, opened when asked', async () => {
    const { call, paths } = await furnished();
    const plain = await call('GET', paths.key);
    expect(plain.body['owner']).toEqual({ href: paths.project });
    const opened = await call('GET', `${paths.key}?include=owner`);
    expect(opened.body['owner']).toMatchObject({ name: 'a' });
  });
});

describe('knobs of the rules', () => {
  it('a plan may be named by its id, too', async () => {
    const fake = await start();
    const plans = await clientOf(fake)('GET', '/plans');
    const plan = plans.body['plans']!.find((one) => text(one['slug']) === 'm3.large.x86');
    const reply = await clientOf(fake)(
      'POST',
      `/projects/${fake.projectId}/devices`,
      createOn(fake, 0, { plan: plan!['id'] }),
    );
    expect([reply.status, reply.body['plan']!['slug']]).toEqual([201, 'm3.large.x86']);
  });

  it('uniqueLabels refuses a rename, but not to its own name', async () => {
    const fake = await start({ knobs: { uniqueLabels: true } });
    const call = clientOf(fake);
    await call('POST', '/ssh-keys', { label: 'one', key: KEY });
    const { body } = await call('POST', '/ssh-keys', { label: 'two', key: OTHER_KEY });
    const rename = async (label: string) =>
      (await call('PATCH', `/ssh-keys/${text(body['id'])}`, { label })).status;
    expect([await rename('one'), await rename('two'), await rename('three')]).toEqual([
      422, 200, 200,
    ]);
  });

  it('allowOccupiedMove moves a reservation with its device on it', async () => {
    const world = parseWorld({ projects: [{ name: 'a' }, { name: 'b' }], reservations: 2 });
    const fake = await start({ world, knobs: { allowOccupiedMove: true } });
    await createDevice(fake);
    const projects = await clientOf(fake)('GET', '/projects');
    const project_id = text(projects.body['projects']![1]!['id']);
    const path = `/hardware-reservations/${fake.reservations()[0]!.id}/move`;
    const reply = await clientOf(fake)('POST', path, { project_id });
    expect([reply.status, reply.body['project']]).toEqual([
      201,
      { href: `/projects/${project_id}` },
    ]);
    expect(fake.violations()).toEqual([]);
  });

  it.each([403, 404] as const)('onDemandVanish %i hides a device from lists, too', async (code) => {
    const fake = await start({ knobs: { onDemandVanish: code } });
    fake.addFault({ effect: { type: 'failProvisioning' } });
    const id = await createDevice(fake, 0, { hardware_reservation_id: null, metro: 'fr' });
    await createDevice(fake, 1);
    await fake.advance(120_000);
    expect((await clientOf(fake)('GET', `/devices/${id}`)).status).toBe(code);
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(list.body['devices']!.map((one) => one['hostname'])).toEqual(['machine-1']);
  });
});
