import { expect, test } from 'vitest';
import type { Device } from '../../../../../src/adapters/provider/equinix/client/schema.ts';
import type { EquinixConfig } from '../../../../../src/adapters/provider/equinix/settings.ts';
import {
  exchanges,
  type Exchange,
} from '../../../../../src/simulator/fakequinix/http/exchanges.ts';
import type { World } from '../../../../../src/simulator/fakequinix/world.ts';
import { createStand, live, type Stand } from './stand.ts';

let stand: Stand;

async function begin(world: World, config: Partial<EquinixConfig> = {}): Promise<Stand> {
  stand = await createStand({ fake: { world }, config });
  return stand;
}
const devices = (count: number, hostname = (n: number) => `shepherd-ci-${n}`) => ({
  devices: Array.from({ length: count }, (_, n) => ({ hostname: hostname(n) })),
});
const idsOf = (items: readonly { readonly id: string }[]) => new Set(items.map(({ id }) => id));
const walks = (consistent: boolean) =>
  stand.metrics.count('equinixWalk', 'ListDevices', consistent);

test('vector 22: 250 devices are three sorted pages of one hundred', async () => {
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

/** A walk as the emulator answered it. */
interface SeenWalk {
  readonly ids: string[];
  readonly totals: Set<number>;
}

/** The walks behind what `list` answers, from the replies themselves. */
async function walksOf<T>(list: () => Promise<T>): Promise<{ answer: T; seen: SeenWalk[] }> {
  const seen: SeenWalk[] = [];
  const hear = (message: unknown) => {
    const { query, reply } = message as Exchange;
    const { devices, meta } = JSON.parse(reply) as {
      devices: { id: string }[];
      meta: { total: number };
    };
    if (query['page'] === '1') seen.push({ ids: [], totals: new Set() });
    seen.at(-1)!.ids.push(...devices.map(({ id }) => id));
    seen.at(-1)!.totals.add(meta.total);
  };
  exchanges.subscribe(hear);
  try {
    return { answer: await list(), seen };
  } finally {
    exchanges.unsubscribe(hear);
  }
}

/** The rule of completeness, from the specification: by which walk it holds, and how. */
function completedBy(seen: readonly SeenWalk[]): { walk: number; by: 'walk' | 'union' } | null {
  const union = new Set<string>();
  const only = ({ totals }: SeenWalk) => (totals.size === 1 ? [...totals][0]! : NaN);
  for (const [i, walk] of seen.entries()) {
    for (const id of walk.ids) union.add(id);
    const unique = new Set(walk.ids).size;
    if (unique === walk.ids.length && unique === only(walk)) return { walk: i + 1, by: 'walk' };
    const agree = i > 0 && only(walk) === only(seen[i - 1]!);
    if (agree && union.size === only(walk)) return { walk: i + 1, by: 'union' };
  }
  return null;
}

test.each([
  ['shuffle', ['none', 'union']],
  ['duplicate', ['union']],
] as const)(
  'vector 23: equal hostnames and %s give no duplicate, and complete only by the rule',
  async (mode, met) => {
    const { client, run, fake } = await begin(
      devices(25, () => 'all-the-same'),
      { pageSize: 10 },
    );
    fake.addFault({ effect: { type: 'unstablePages', mode } });
    const ways = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const { answer, seen } = await walksOf(() => run(client.listDevices(live)));
      const rule = completedBy(seen);
      ways.add(rule?.by ?? 'none');
      expect(answer.complete).toBe(rule !== null);
      // It goes on until the rule holds, three times at the most, and not a time more.
      expect(seen).toHaveLength(rule?.walk ?? 3);
      const ids = answer.items.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(ids)).toEqual(new Set(seen.flatMap((walk) => walk.ids)));
      if (answer.complete) expect(new Set(ids)).toEqual(idsOf(fake.devices()));
    }
    expect([...ways].toSorted()).toEqual(met);
  },
);

/** One of each page is left out; the last page has one only, so that one is never seen. */
const HOLED = [devices(3), { pageSize: 2 }] as const;

test('who insists on completeness gets PartialListing with what was seen', async () => {
  const { client, failureOf, fake } = await begin(...HOLED);
  fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const error = await failureOf(client.listDevices(live, { insist: true }));
  expect(error.kind).toBe('PartialListing');
  expect((error.items as Device[]).length).toBeGreaterThan(0);
  expect(JSON.stringify(error)).not.toContain('shepherd-ci-');
});

test('a failing page is repeated without beginning anew', async () => {
  const { client, run, fake, calls } = await begin(devices(25), { pageSize: 10 });
  fake.addFault({ match: { nth: 2 }, effect: { type: 'status', code: 502 } });
  expect(await run(client.listDevices(live))).toMatchObject({ complete: true });
  expect(calls().map(({ query }) => query['page'])).toEqual(['1', '2', '2', '3']);
});

test('reservations come sorted by age, with device and facility, of any project', async () => {
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
  const all = await run(client.listOrganizationReservations(fake.organizationId, live));
  expect(all.items).toHaveLength(15);
  expect(calls().at(-1)!.query['include']).toBe('facility,device,project');
  const theirs = all.items.find(({ project }) => project?.name === 'theirs')!.project!.id!;
  const others = await run(another({ projectId: theirs }).listReservations(live));
  expect(others.items).toHaveLength(3);
});

test('an id of a project or organisation that is no UUID never leaves', async () => {
  const { another, failureOf, calls } = await begin({});
  const client = another({ projectId: '../organizations' });
  for (const list of [
    () => client.listDevices(live),
    () => client.listReservations(live),
    () => client.listOrganizationReservations('x', live),
  ]) {
    expect(await failureOf(list())).toMatchObject({ kind: 'InvalidArgument', attempts: 0 });
  }
  expect(calls()).toEqual([]);
});
