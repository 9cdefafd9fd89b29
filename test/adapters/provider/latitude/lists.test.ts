import { expect, test } from 'vitest';
import { createLists } from '../../../../src/adapters/provider/latitude/client/lists.ts';
import { server, userData } from '../../../../src/adapters/provider/latitude/client/schema.ts';
import type { Call } from '../../../../src/adapters/http/call.ts';

/** A list of so many entries, as the API pages it. */
function listOf(prefix: string, count: number) {
  let reads = 0;
  const send = async ({ query, schema }: Parameters<Call['send']>[0]): Promise<unknown> => {
    reads += 1;
    const size = Number(query!['page[size]']);
    const from = (Number(query!['page[number]']) - 1) * size;
    const length = Math.max(0, Math.min(size, count - from));
    const data = Array.from({ length }, (_, n) => ({
      id: `${prefix}_${from + n}`,
      attributes: {},
    }));
    return schema.parseAsync({ data, meta: { stats: { total: { count } } } });
  };
  const call = { send, observer: { walk: () => undefined } } as unknown as Call;
  return { call, reads: () => reads };
}

test.each([
  [250, 3],
  [200, 2],
  [201, 3],
  [0, 1],
])(
  'vector 19: %i entries in pages of 100 are %i reads, each entry once',
  async (count, expected) => {
    for (const [prefix, schema] of [
      ['sv', server],
      ['ud', userData],
    ] as const) {
      const { call, reads } = listOf(prefix, count);
      const list = { endpoint: 'List', path: '/list', query: {}, schema };
      const { items, complete } = await createLists(100).read<{ readonly id: string }>(call, list);
      expect([complete, reads()]).toEqual([true, expected]);
      expect(new Set(items.map(({ id }) => id)).size).toBe(count);
    }
  },
);

test('an entry that cannot be read spoils no other', async () => {
  const send = async ({ schema }: Parameters<Call['send']>[0]): Promise<unknown> =>
    schema.parseAsync({
      data: [
        { id: 'sv_1', attributes: { hostname: 'one', status: 'on' } },
        { id: 'sv_2', attributes: { hostname: 'two', status: 7 } },
        { id: 'sv_3' },
      ],
      meta: { stats: { total: { count: 3 } } },
    });
  const call = { send, observer: { walk: () => undefined } } as unknown as Call;
  const list = { endpoint: 'List', path: '/list', query: {}, schema: server };
  const read = await createLists(100).read(call, list);
  expect(read.items.map(({ id }) => id)).toEqual(['sv_1', 'sv_3']);
  expect(read.unread).toEqual([
    { id: 'sv_2', reservationId: 'two', fault: expect.stringContaining('status') },
  ]);
});

test('without a total one walk is no whole listing: a second one has to see the same', async () => {
  let walks = 0;
  const send = async ({ query, schema }: Parameters<Call['send']>[0]): Promise<unknown> => {
    const isFirst = query!['page[number]'] === '1';
    if (isFirst) walks += 1;
    // The first one ends where it finds no total.
    const ids = walks <= 2 ? ['sv_1'] : ['sv_1', 'sv_2'];
    return schema.parseAsync({ data: isFirst ? ids.map((id) => ({ id })) : [] });
  };
  const call = { send, observer: { walk: () => undefined } } as unknown as Call;
  const list = { endpoint: 'List', path: '/list', query: {}, schema: server };
  const { items, complete } = await createLists(100).read(call, list);
  expect([items.map(({ id }) => id), complete, walks]).toEqual([['sv_1', 'sv_2'], true, 4]);
});
