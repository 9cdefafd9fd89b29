import { expect, test } from 'vitest';
import { createLists } from '../../../../src/adapters/provider/latitude/routes.ts';
import { server, userData } from '../../../../src/adapters/provider/latitude/api.ts';
import type { Call } from '../../../../src/adapters/driver-kit/call.ts';

/** Reads a whole list whose pages are these. */
async function readAll(
  pageOf: (number: number, size: number) => { data: object[]; total?: number },
  schema: typeof server | typeof userData = server,
) {
  let reads = 0;
  const send = async ({ query, ...asked }: Parameters<Call['send']>[0]): Promise<unknown> => {
    reads += 1;
    const { data, total } = pageOf(Number(query!['page[number]']), Number(query!['page[size]']));
    const meta = total === undefined ? undefined : { stats: { total: { count: total } } };
    return asked.schema.parseAsync({ data, meta });
  };
  const call = { send, observer: { walk: () => undefined } } as unknown as Call;
  const list = { endpoint: 'List', path: '/list', query: {}, schema };
  const read = await createLists(100).read<{ readonly id: string }>(call, list);
  return { ...read, reads, ids: read.items.map(({ id }) => id) };
}

test.each([
  [250, 100, 3],
  [200, 100, 2],
  [201, 100, 3],
  [0, 100, 1],
  // A short page is not the last one.
  [5, 2, 3],
])(
  'vector 19: %i entries in pages of %i are %i reads, each entry once',
  async (total, most, expected) => {
    for (const schema of [server, userData]) {
      const all = Array.from({ length: total }, (_, n) => ({ id: `sv_${n}`, attributes: {} }));
      const { ids, complete, reads } = await readAll((number, size) => {
        const shown = Math.min(size, most);
        return { data: all.slice((number - 1) * shown, number * shown), total };
      }, schema);
      expect([complete, reads, new Set(ids).size]).toEqual([true, expected, total]);
    }
  },
);

test('an entry that cannot be read spoils no other', async () => {
  const data = [
    { id: 'sv_1', attributes: { hostname: 'one', status: 'on' } },
    { id: 'sv_2', attributes: { hostname: 'two', status: 7 } },
    { id: 'sv_3' },
  ];
  const { ids, unread } = await readAll(() => ({ data, total: 3 }));
  expect(ids).toEqual(['sv_1', 'sv_3']);
  expect(unread).toEqual([
    { id: 'sv_2', reservationId: 'two', fault: expect.stringContaining('status') },
  ]);
});

test('without a total one walk is no whole listing: a second one has to see the same', async () => {
  let walks = 0;
  const { ids, complete } = await readAll((number) => {
    if (number > 1) return { data: [] };
    walks += 1;
    // The first walk ends where it finds no total.
    return { data: [{ id: 'sv_1' }, ...(walks <= 2 ? [] : [{ id: 'sv_2' }])] };
  });
  expect([ids, complete, walks]).toEqual([['sv_1', 'sv_2'], true, 4]);
});
