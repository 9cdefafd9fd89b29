import { expect, test } from 'vitest';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { clientOf, createDevice, start, text, type Json } from './harness.ts';

const many = (count: number) =>
  parseWorld({
    devices: Array.from({ length: count }, (_, i) => ({
      hostname: `host-${String((i * 7) % count).padStart(4, '0')}`,
    })),
  });
const hosts = (body: Json) => body['devices']!.map((one) => String(one['hostname']));

testRows([
  [25, ''],
  [1_000, '?per_page=250&sort_by=hostname'],
])('leads through all %i devices by the link to the next page', async (count, query) => {
  const fake = await start({ world: many(count) });
  const seen: string[] = [];
  let next: string | null = `/projects/${fake.projectId}/devices${query}`;
  while (next !== null) {
    const { body }: { body: Json } = await clientOf(fake)('GET', next);
    seen.push(...hosts(body));
    next = body['meta']!['next'] === null ? null : text(body['meta']!['next']!['href']);
  }
  expect([seen.length, new Set(seen).size]).toEqual([count, count]);
});

test('describes a page, with links below the base path and a prefix that a knob gives', async () => {
  const fake = await start({ world: many(25), knobs: { hrefPrefix: '/metal/v1' } });
  const path = `/projects/${fake.projectId}/devices`;
  const { body } = await clientOf(fake)('GET', `${path}?page=2&per_page=10&sort_by=hostname`);
  const link = (page: number) => ({
    href: `/metal/v1${path}?per_page=10&sort_by=hostname&page=${page}`,
  });
  expect(body['meta']).toEqual({
    ...{ total: 25, current_page: 2, last_page: 3 },
    ...{ first: link(1), self: link(2), previous: link(1), next: link(3), last: link(3) },
  });
  expect(body['devices']![0]!['href']).toMatch(/^\/metal\/v1\/devices\//);
});

testRows([
  ['per_page=5000', 20, false],
  ['per_page=0', 1, false],
  ['per_page=x', 10, false],
  ['page=3', 5, true],
  ['page=9', 0, true],
])('shows for %s %i devices; last page: %j', async (query, count, isLast) => {
  const fake = await start({ world: many(25), knobs: { maxPerPage: 20 } });
  const { body } = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?${query}`);
  expect([hosts(body).length, body['meta']!['next'] === null]).toEqual([count, isLast]);
});

test('shuffles an unsorted list for each request under the knob', async () => {
  const fake = await start({ world: many(9), knobs: { shuffleUnsorted: true } });
  const order = async (query: string) =>
    hosts((await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?${query}`)).body);
  const orders = await Promise.all([1, 2, 3, 4].map(() => order('')));
  expect(new Set(orders.map((one) => one.join())).size).toBeGreaterThan(1);
  const up = await order('sort_by=hostname');
  expect(up).toEqual(up.toSorted());
  expect(await order('sort_by=hostname&sort_direction=desc')).toEqual(up.toReversed());
});

const HREF = { href: expect.any(String) as string };
testRows([
  ['', { plan: { slug: 'm3.large.x86' }, facility: HREF, project: HREF, metro: HREF }, true],
  ['exclude=plan,tags,nonsense', { plan: HREF, hostname: 'machine-0' }, false],
  [
    'include=facility,hardware_reservation.device.project.organization,nonsense.more',
    {
      facility: { code: 'fr2', metro: { code: 'fr' } },
      hardware_reservation: {
        device: { tags: ['x'], project: { name: 'fleet', organization: HREF } },
      },
    },
    true,
  ],
])('opens and closes relations of a device by %j', async (query, shown, hasTags) => {
  const fake = await start();
  const id = await createDevice(fake, 0, { tags: ['x'] });
  const { body } = await clientOf(fake)('GET', `/devices/${id}?${query}`);
  expect(body).toMatchObject(shown);
  expect('tags' in body).toBe(hasTags);
});

test('leaves every null out under the knob', async () => {
  const fake = await start({ knobs: { omitNulls: true } });
  const id = await createDevice(fake);
  for (const path of [`/devices/${id}`, `/projects/${fake.projectId}/hardware-reservations`]) {
    expect(JSON.stringify((await clientOf(fake)('GET', path)).body)).not.toContain('null');
  }
});
