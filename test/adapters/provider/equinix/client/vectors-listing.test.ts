import { expect, test } from 'vitest';
import type { EquinixConfig } from '../../../../../src/adapters/provider/equinix/settings.ts';
import type { WorldDescription } from '../../../../../emulators/equinix/world.ts';
import { createStand, live, type ClientStand } from './stand.ts';

let stand: ClientStand;

async function begin(
  world: WorldDescription,
  config: Partial<EquinixConfig> = {},
): Promise<ClientStand> {
  stand = await createStand({ fake: { world }, config });
  return stand;
}
const devices = (count: number, hostname = (n: number) => `shepherd-ci-${n}`) => ({
  devices: Array.from({ length: count }, (_, n) => ({ hostname: hostname(n) })),
});
const idsOf = (items: readonly { readonly id: string }[]) => new Set(items.map(({ id }) => id));
const walks = (consistent: boolean) =>
  stand.metrics.total('equinix_listing_walks_total', {
    list: 'ListDevices',
    consistent: consistent ? 'true' : 'false',
  });

test('vector 22: reads 250 devices as three sorted pages of one hundred', async () => {
  const { client, run, calls, fake } = await begin(devices(250));
  const { items, complete } = await run(client.listDevices(live));
  expect(complete).toBe(true);
  expect(idsOf(items)).toEqual(idsOf(fake.devices()));
  expect(items).toHaveLength(250);
  expect(calls().map(({ query }) => query)).toEqual(
    ['1', '2', '3'].map((page) => ({
      include: 'facility',
      sort_by: 'hostname',
      sort_direction: 'asc',
      page,
      per_page: '100',
    })),
  );
  expect([walks(true), walks(false)]).toEqual([1, 0]);
});

/** Each page lacks one device. The last page has only one, which is therefore never seen. */
const HOLED = [devices(3), { pageSize: 2 }] as const;

test('reports an error to a caller that requires completeness', async () => {
  const { client, failureOf, fake } = await begin(...HOLED);
  fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const error = await failureOf(client.listDevices(live, true));
  expect(error.message).toContain('only 2 are certain');
});

test('repeats a failing page without a new start', async () => {
  const { client, run, fake, calls } = await begin(devices(25), { pageSize: 10 });
  fake.addFault({ match: { nth: 2 }, effect: { type: 'status', code: 502 } });
  expect(await run(client.listDevices(live))).toMatchObject({ complete: true });
  expect(calls().map(({ query }) => query['page'])).toEqual(['1', '2', '2', '3']);
});

test('returns reservations of any project sorted by age, with device and facility', async () => {
  const { client, another, run, calls, fake } = await begin({
    projects: [{ name: 'ours' }, { name: 'theirs' }],
    reservations: [
      { count: 12, project: 'ours' },
      { count: 3, project: 'theirs' },
    ],
  });
  const mine = await run(client.listReservations(live));
  expect(mine).toMatchObject({ complete: true });
  expect(mine.items).toHaveLength(12);
  expect(calls()[0]!.query).toMatchObject({
    include: 'facility,device',
    sort_by: 'created_at',
    sort_direction: 'asc',
  });
  const theirs = fake
    .reservations()
    .find(({ projectId }) => projectId !== fake.projectId)!.projectId;
  const others = await run(another({ projectId: theirs }).listReservations(live));
  expect(others.items).toHaveLength(3);
});

test('never sends a project id that is no UUID', async () => {
  const { another, failureOf, calls } = await begin({});
  const client = another({ projectId: '../organizations' });
  for (const list of [() => client.listDevices(live), () => client.listReservations(live)]) {
    expect(await failureOf(list())).toMatchObject({ kind: 'invalid', attempts: 0 });
  }
  expect(calls()).toEqual([]);
});
