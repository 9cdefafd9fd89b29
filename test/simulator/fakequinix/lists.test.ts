import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { clientOf, createDevice, start, text, type Json } from './harness.ts';

const names = (list: Json | undefined) => list!.map((one) => one['hostname']);
const many = (count: number) =>
  parseWorld({
    devices: Array.from({ length: count }, (_, i) => ({
      hostname: `host-${String(i).padStart(3, '0')}`,
      tags: [i % 2 === 0 ? 'even' : 'odd'],
      facility: i % 2 === 0 ? 'fr2' : 'am6',
    })),
  });

describe('pages', () => {
  it('are ten long unless asked otherwise, and lead on to the last one', async () => {
    const fake = await start({ world: many(25) });
    const path = `/projects/${fake.projectId}/devices`;
    const seen: unknown[] = [];
    let next: string | null = path;
    while (next !== null) {
      const { body }: { body: Json } = await clientOf(fake)('GET', next);
      seen.push(...names(body['devices']));
      next = body['meta']!['next'] === null ? null : text(body['meta']!['next']!['href']);
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
  });

  it('describe themselves, with hrefs below the base path', async () => {
    const fake = await start({ world: many(25) });
    const path = `/projects/${fake.projectId}/devices`;
    const { body } = await clientOf(fake)('GET', `${path}?page=2&per_page=10&sort_by=hostname`);
    const link = (page: number) => ({ href: `${path}?per_page=10&sort_by=hostname&page=${page}` });
    expect(body['meta']).toEqual({
      total: 25,
      current_page: 2,
      last_page: 3,
      first: link(1),
      self: link(2),
      previous: link(1),
      next: link(3),
      last: link(3),
    });
  });

  it('have null at their ends and clamp per_page', async () => {
    const fake = await start({ world: many(25), knobs: { maxPerPage: 20 } });
    const path = `/projects/${fake.projectId}/devices`;
    const get = async (query: string) => (await clientOf(fake)('GET', `${path}?${query}`)).body;
    expect((await get('per_page=5000'))['devices']).toHaveLength(20);
    expect((await get('per_page=0'))['devices']).toHaveLength(1);
    expect((await get('per_page=x'))['devices']).toHaveLength(10);
    const last = await get('page=3');
    expect([last['devices']!.length, last['meta']!['next']]).toEqual([5, null]);
    expect((await get('page=9'))['devices']).toEqual([]);
    expect((await get('page=1'))['meta']!['previous']).toBeNull();
  });

  it('can put a prefix before every href', async () => {
    const fake = await start({ world: many(1), knobs: { hrefPrefix: '/metal/v1' } });
    const { body } = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(body['meta']!['self']!['href']).toMatch(/^\/metal\/v1\/projects\//);
    expect(body['devices']![0]!['href']).toMatch(/^\/metal\/v1\/devices\//);
  });

  it('are reshuffled per request under the knob, unless sorted', async () => {
    const fake = await start({ world: many(9), knobs: { shuffleUnsorted: true } });
    const path = `/projects/${fake.projectId}/devices`;
    const order = async (query: string) =>
      names((await clientOf(fake)('GET', `${path}?${query}`)).body['devices']).join();
    const orders = new Set(await Promise.all([1, 2, 3, 4].map(() => order(''))));
    expect(orders.size).toBeGreaterThan(1);
    const up = await order('sort_by=hostname');
    expect(await order('sort_by=hostname')).toBe(up);
    expect(await order('sort_by=hostname&sort_direction=desc')).toBe(
      up.split(',').toReversed().join(),
    );
  });
});

describe('filters', () => {
  it.each([
    ['tag=odd', 4],
    ['hostname=host-003', 1],
    ['search=EVEN', 5],
    ['search=nothing', 0],
    ['facility=am6', 4],
    ['metro=fr', 5],
    ['reserved=true', 0],
    ['reserved=false', 9],
    ['has_termination_time=true', 0],
    ['has_termination_time=false', 9],
    ['mac_address=02:00:00:00:00:00', 0],
  ])('devices by %s', async (query, count) => {
    const fake = await start({ world: many(9) });
    const { body } = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?${query}`);
    expect(body['meta']!['total']).toBe(count);
  });

  it('A: devices by the address of a network card, and those that end', async () => {
    const fake = await start({ world: many(9) });
    const call = clientOf(fake);
    const path = `/projects/${fake.projectId}/devices`;
    const end = { metro: 'fr', termination_time: '2030-01-01T00:00:00Z' };
    const id = await createDevice(fake, 0, { ...end, hardware_reservation_id: '' });
    const device = (await call('GET', `/devices/${id}`)).body;
    const ports = device['network_ports'] as unknown as { data: { mac?: string } }[];
    const macs = ports.flatMap(({ data }) => data.mac?.toUpperCase() ?? []);
    expect(macs).toHaveLength(2);
    for (const query of ['has_termination_time=true', ...macs.map((mac) => `mac_address=${mac}`)]) {
      const { devices } = (await call('GET', `${path}?${query}`)).body;
      expect(devices!.map((one) => one['id'])).toEqual([id]);
    }
  });

  it.each([
    ['slug=c3.small.x86', ['c3.small.x86']],
    ['slug=c3', []],
    ['type=standard&slug=c3.small.x86', ['c3.small.x86']],
    ['type=custom', []],
    ['categories[]=compute&slug=c3.small.x86', ['c3.small.x86']],
    ['categories[]=storage&categories[]=gpu', []],
  ])('A: plans by %s', async (query, slugs) => {
    const { body } = await clientOf(await start())('GET', `/plans?${query}`);
    expect(body['plans']!.map((one) => one['slug'])).toEqual(slugs);
  });

  it('a tag fits as a whole only', async () => {
    const fake = await start({ world: many(9) });
    const { body } = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?tag=eve`);
    expect(body['devices']).toEqual([]);
  });

  it('reservations by use and condition', async () => {
    const world = parseWorld({
      reservations: [{ count: 3 }, { spare: true }, { needOfService: true }],
    });
    const fake = await start({ world });
    await createDevice(fake);
    const total = async (query: string) => {
      const path = `/projects/${fake.projectId}/hardware-reservations?${query}`;
      return (await clientOf(fake)('GET', path)).body['meta']!['total'];
    };
    expect(await total('')).toBe(5);
    expect(await total('provisionable=only')).toBe(2);
    expect(await total('state=spare')).toBe(1);
    expect(await total('state=need_of_service')).toBe(1);
    expect(await total('state=active')).toBe(3);
    expect(await total('query=nothing-like-this')).toBe(0);
  });
});

describe('expansion', () => {
  it('shows a device with its defaults', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    expect(body['plan']).toMatchObject({ slug: 'm3.large.x86' });
    expect(body['operating_system']).toMatchObject({ slug: 'ubuntu_22_04' });
    expect(body['created_by']).toMatchObject({ email: expect.any(String) });
    for (const relation of ['project', 'facility', 'metro', 'hardware_reservation']) {
      expect([relation, Object.keys(body[relation]!)]).toEqual([relation, ['href']]);
    }
    expect(body['project']).toEqual({ href: `/projects/${fake.projectId}` });
  });

  it('opens what is included, three levels deep, and closes what is excluded', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, { tags: ['x'] });
    const include = 'facility,hardware_reservation.device.project.organization,nonsense.more';
    const { body } = await clientOf(fake)('GET', `/devices/${id}?include=${include}`);
    expect(body['facility']).toMatchObject({ code: 'fr2', metro: { code: 'fr' } });
    const inner = body['hardware_reservation']!['device']!;
    expect(inner['id']).toBe(id);
    expect(inner['project']).toMatchObject({ name: 'fleet' });
    expect(Object.keys(inner['project']!['organization']!)).toEqual(['href']);

    const shrunk = await clientOf(fake)('GET', `/devices/${id}?exclude=plan,tags,nonsense`);
    expect(Object.keys(shrunk.body['plan']!)).toEqual(['href']);
    expect(shrunk.body).not.toHaveProperty('tags');
    expect(shrunk.body).toHaveProperty('hostname');
  });

  it('shows a reservation with plan inline and the rest as href or null', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, { tags: ['witness'] });
    const [taken, free] = fake.reservations();
    const get = async (path: string) => (await clientOf(fake)('GET', path)).body;
    const plain = await get(`/hardware-reservations/${taken!.id}`);
    expect(plain).toMatchObject({
      provisionable: false,
      plan: { slug: 'm3.large.x86' },
      device: { href: `/devices/${id}` },
    });
    const opened = await get(`/hardware-reservations/${taken!.id}?include=device,facility,project`);
    expect(opened['device']!['tags']).toEqual(['witness']);
    expect(opened['facility']!['metro']!['code']).toBe('fr');
    expect(await get(`/hardware-reservations/${free!.id}`)).toMatchObject({
      device: null,
      provisionable: true,
    });
  });

  it('can leave every null out', async () => {
    const fake = await start({ knobs: { omitNulls: true } });
    const id = await createDevice(fake);
    const replies = await Promise.all(
      [`/devices/${id}`, `/projects/${fake.projectId}/hardware-reservations`].map((path) =>
        clientOf(fake)('GET', path),
      ),
    );
    for (const { body } of replies) expect(JSON.stringify(body)).not.toContain('null');
  });

  it.each([
    'plans',
    'operating-systems',
    'facilities',
    'locations/metros',
    'user',
    'organizations',
  ])('answers /%s', async (path) => {
    const fake = await start();
    expect((await clientOf(fake)('GET', `/${path}`)).status).toBe(200);
  });
});
