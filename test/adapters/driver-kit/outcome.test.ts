import fc from 'fast-check';
import { expect, test, describe } from 'vitest';
import { z } from 'zod';
import { HttpFailure, createJsonLimits } from '../../../src/adapters/driver-kit/exchange.ts';
import { judgeFailure, judgeReply, waitAsked } from '../../../src/adapters/driver-kit/outcome.ts';
import {
  entriesOf,
  PageOrderError,
  walkPages,
  type Page,
} from '../../../src/adapters/driver-kit/pages.ts';
import { createRedact } from '../../../src/adapters/driver-kit/redaction.ts';
import { ANSWERS } from '../../../src/adapters/provider/equinix/api.ts';
import { testRows } from '../../support/rows.ts';

const NOW_MS = Date.parse('2026-08-01T10:00:00Z');
const OWN = '{"errors":["no"]}';
const judge = async (
  status: number,
  {
    mutates = false,
    endpoint = 'GetDevice',
    text = status >= 400 ? OWN : '',
    type = 'application/json; charset=utf-8',
  } = {},
) => {
  const redact = (line: string) => line;
  const attempted = { form: ANSWERS, endpoint, mutates, schema: z.unknown(), redact };
  const verdict = await judgeReply(
    attempted,
    { status, headers: { 'content-type': type }, text },
    NOW_MS,
  );
  return verdict.type === 'ok' ? 'ok' : `${verdict.type} ${verdict.failure.kind}`;
};

const rowsOf = (statuses: readonly number[], read: string, change: string) =>
  statuses.map((status): [number, string, string] => [status, read, change]);
testRows([
  ...rowsOf([200, 201, 202, 204], 'ok', 'ok'),
  ...rowsOf([301, 302, 307], 'fail permanent', 'ambiguous permanent'),
  ...rowsOf([400, 405, 406, 409, 410, 413, 415, 422], 'fail invalid', 'fail invalid'),
  ...rowsOf([401, 403], 'fail auth', 'fail auth'),
  ...rowsOf([404], 'fail not-found', 'fail not-found'),
  ...rowsOf([425, 429], 'retry transient', 'retry transient'),
  ...rowsOf([408, 500, 502, 503, 504], 'retry transient', 'ambiguous transient'),
])('status %i: a read is %s, a change is %s', async (status, read, change) => {
  expect(await judge(status)).toBe(read);
  expect(await judge(status, { mutates: true })).toBe(change);
});

testRows([
  [403, 'retry transient', 'fail auth'],
  [404, 'retry transient', 'ambiguous transient'],
  [410, 'retry transient', 'ambiguous transient'],
  [422, 'fail invalid', 'fail invalid'],
])(
  "A2: status %i that is not the API's own: a read is %s, a change is %s",
  async (status, read, change) => {
    const foreign = { text: 'default backend - 404', type: 'text/plain' };
    expect(await judge(status, foreign)).toBe(read);
    expect(await judge(status, { ...foreign, mutates: true })).toBe(change);
    expect(await judge(status, { text: OWN, type: 'text/html' })).toBe(read);
    expect(await judge(status, { text: '', type: '' })).toBe(read);
  },
);

test('A2: accepts both forms of the API as its own', async () => {
  for (const text of ['{"errors":[]}', '{"error":"no"}', OWN]) {
    for (const type of [
      'application/json',
      'application/json;charset=utf-8',
      'application/problem+json',
    ]) {
      expect(await judge(404, { text, type })).toBe('fail not-found');
    }
  }
});

testRows([
  'There are no available hardware reservations for this plan',
  'The facility has no provisionable m3.large.x86 servers matching your criteria',
  'Not enough capacity',
])(
  'treats a 503 on a creation that says "%s" as a lack of machines, and no other 503',
  async (message) => {
    const text = JSON.stringify({ errors: [message] });
    const creation = { mutates: true, endpoint: 'CreateDevice', text };
    expect(await judge(503, creation)).toBe('fail transient');
    expect(await judge(503, { ...creation, endpoint: 'UpdateDevice' })).toMatch(/^ambiguous/);
    expect(await judge(503, { ...creation, text: '' })).toMatch(/^ambiguous/);
    expect(await judge(500, creation)).toMatch(/^ambiguous/);
  },
);

test('repeats a read with an unreadable success, and treats a change as ambiguous', async () => {
  expect(await judge(200, { text: '{' })).toBe('retry permanent');
  expect(await judge(201, { text: '{', mutates: true })).toBe('ambiguous permanent');
});

testRows([
  ['transport', false, 'retry transient', 'retry transient'],
  ['transport', true, 'retry transient', 'ambiguous transient'],
  ['timeout', false, 'retry transient', 'retry transient'],
  ['timeout', true, 'retry transient', 'ambiguous transient'],
  ['oversize', true, 'fail permanent', 'ambiguous transient'],
  ['certificate', false, 'fail transient', 'fail transient'],
  ['unsendable', false, 'fail invalid', 'fail invalid'],
] as const)('%s, sent %s: a read is %s, a change is %s', (reason, sent, read, change) => {
  const failed = (mutates: boolean) => {
    const verdict = judgeFailure({ mutates }, new HttpFailure(reason, sent, 'failed'));
    return verdict.type === 'ok' ? 'ok' : `${verdict.type} ${verdict.failure.kind}`;
  };
  expect(failed(false)).toBe(read);
  expect(failed(true)).toBe(change);
});

testRows([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Sat, 01 Aug 2026 10:00:20 GMT' }, 20_000],
  [{ 'retry-after': 'Sat, 01 Aug 2026 09:00:00 GMT' }, 0],
  [
    { 'retry-after': 'Sat, 01 Aug 2026 10:00:20 GMT', date: 'Sat, 01 Aug 2026 10:00:15 GMT' },
    5_000,
  ],
  [{ 'retry-after': 'soon' }, 20_000],
  [{ 'retry-after': '-5' }, 20_000],
  [{ 'retry-after': '+60' }, 20_000],
  [{ 'retry-after': '1.5' }, 20_000],
  [{ 'retry-after': '0x10' }, 20_000],
  [{ 'retry-after': '2026-08-01' }, 20_000],
  [{ 'retry-after': '' }, 20_000],
  [{ 'retry-after': ' 7 ' }, 7_000],
  [{ 'retry-after': '86400' }, 3_600_000],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578430' }, 30_000],
  [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1785578430' }, 0],
  [{ 'x-ratelimit-remaining': '0' }, 0],
  [
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578430', 'retry-after': '40' },
    40_000,
  ],
  [{}, 0],
])('%o asks for %i ms', (headers, waitMs) => {
  expect(waitAsked({ headers }, NOW_MS)).toBe(waitMs);
});

test("redacts a server's message before it shortens the message", async () => {
  const secret = 'a1b2c3d4e5f6a7b8c9d0';
  const text = JSON.stringify({ errors: [`${'-'.repeat(294)}${secret}`] });
  const redact = createRedact([secret]);
  const sent = { endpoint: 'CreateDevice', mutates: true, schema: z.unknown(), redact };
  const attempted = { ...sent, form: ANSWERS };
  const verdict = await judgeReply(attempted, { status: 422, headers: {}, text }, NOW_MS);
  expect(JSON.stringify(verdict)).not.toContain('a1b2');
});

type Item = { id: string };
const page = (number: number, ids: readonly string[], total: number, last: number): Page<Item> => ({
  items: ids.map((id) => ({ id })),
  unread: [],
  total,
  number,
  isLast: number >= last,
});

/** Returns scripted pages, one after another, for any page number. */
const scripted = (pages: readonly Page<Item>[]) => {
  let asked = 0;
  const fetch = async () => pages[asked++]!;
  return { fetch, asked: () => asked };
};

test('A5: counts an unreadable entry as present; without an id it may be any machine', async () => {
  const one = (id: string | null) => ({ id, reservationId: null, fault: 'x' });
  const with_ = (...ids: (string | null)[]) => ({ ...page(1, ['a'], 2, 1), unread: ids.map(one) });
  expect(await walkPages(scripted([with_('b')]).fetch)).toEqual({
    items: [{ id: 'a' }],
    unread: [one('b')],
    complete: true,
  });
  const nameless = scripted([with_(null)]);
  expect(await walkPages(nameless.fetch)).toMatchObject({ unread: [], complete: false });
  expect(nameless.asked()).toBe(1);
  // Read in one walk, it is read.
  const twice = scripted([with_('b', 'b'), { ...page(1, ['a', 'b'], 2, 1), unread: [one('a')] }]);
  expect(await walkPages(twice.fetch)).toEqual({
    items: [{ id: 'a' }, { id: 'b' }],
    unread: [],
    complete: true,
  });
});

/**
 * The situation, the answered pages (ids, total) with each walk in brackets, and the known result.
 */
testRows([
  ['one consistent walk is complete', '(ab3 c3)', 'abc', true],
  ['an empty list is complete', '(0)', '', true],
  ['a duplicate needs two walks that agree on the size', '(ab3 b3) (ac3 a3)', 'abc', true],
  ['vector 24: what is always left out is never complete', '(ab3) (ab3) (ab3)', 'ab', false],
  ['a drifting total is never complete by the union', '(abc4) (abc5) (abc6)', 'abc', false],
  ['nor is a size that only the last walk tells of', '(aa2) (abb3) (abb2)', 'ab', false],
])('%s: %s', async (_why, walks, ids, complete) => {
  const pages = walks.match(/[^()]+/g)!.flatMap((walk) => {
    const told = walk.trim().split(' ').filter(Boolean);
    return told.map((each, n) =>
      page(n + 1, each.match(/[a-z]/g) ?? [], +each.at(-1)!, told.length),
    );
  });
  const { fetch, asked } = scripted(pages);
  const walked = await walkPages(fetch);
  expect(new Set(walked.items.map(({ id }) => id))).toEqual(new Set(ids));
  expect(walked.items).toHaveLength(ids.length);
  expect([walked.unread, walked.complete, asked()]).toEqual([[], complete, pages.length]);
});

test('refuses a page number that does not advance', async () => {
  await expect(walkPages(async () => page(1, ['a'], 9, 5))).rejects.toBeInstanceOf(PageOrderError);
});

test('refuses endless pages', async () => {
  const endless = async (number: number) => page(number, [], 9, 1_000_000);
  await expect(walkPages(endless)).rejects.toBeInstanceOf(PageOrderError);
});

test('vector 23: returns no id twice in a shuffled listing, and "complete" only with all entries', async () => {
  const sizes = fc.record({
    total: fc.integer({ min: 0, max: 40 }),
    seed: fc.infiniteStream(fc.nat()),
  });
  await fc.assert(
    fc.asyncProperty(sizes, async ({ total, seed }) => {
      const all = Array.from({ length: total }, (_, index) => `id-${index}`);
      const last = Math.max(1, Math.ceil(total / 10));
      let requests = 0;
      const { items, complete } = await walkPages(async (number) => {
        requests++;
        const keyed = all.map((id) => [seed.next().value % 1_000, id] as const);
        const shuffled = keyed.toSorted(([a], [b]) => a - b).map(([, id]) => id);
        return page(number, shuffled.slice((number - 1) * 10, number * 10), total, last);
      });
      const unique = new Set(items.map(({ id }) => id));
      expect(unique.size).toBe(items.length);
      if (complete) expect(unique.size).toBe(total);
      expect(requests).toBeLessThanOrEqual(3 * last);
    }),
  );
});

test('A5: does not let an entry without an id fill up the total', async () => {
  const entry = { id: null, reservationId: null, fault: 'no id' };
  const place = { total: 2, number: 1, isLast: true };
  const twice = [{ id: 'a' }, { id: 'a' }];
  const walked = await walkPages(async () => ({ items: twice, unread: [entry], ...place }));
  expect(walked).toEqual({ items: [{ id: 'a' }], unread: [], complete: false });
});

test('E2: yields to other tasks while it reads a page of 20 000 odd entries', async () => {
  const schema = entriesOf(z.object({ id: z.string() }), () => ({ id: null, reservationId: null }));
  let turns = 0;
  let waiting = setImmediate(function next() {
    turns += 1;
    waiting = setImmediate(next);
  });
  const { items, unread } = await schema.parseAsync([
    ...Array(20_000).fill({ id: 5 }),
    { id: 'a' },
  ]);
  clearImmediate(waiting);
  expect([items, unread.length]).toEqual([[{ id: 'a' }], 20_000]);
  expect(turns).toBeGreaterThan(3);
});

test('refuses a page with more entries than any listing has', async () => {
  const schema = entriesOf(z.unknown(), () => ({ id: null, reservationId: null }));
  expect((await schema.safeParseAsync(Array(50_001).fill(1))).success).toBe(false);
});

/** The rest of a text that arrives in pieces of `size` bytes, or its error. */
function limited(text: string, size = 65_536): string {
  const limits = createJsonLimits();
  const bytes = Buffer.from(text);
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const { kept, wrong } = limits(bytes.subarray(at, at + size));
    if (wrong !== null) return wrong;
    all.push(...kept);
  }
  return Buffer.concat(all).toString();
}

const nested = (levels: number, inner = '') => '['.repeat(levels) + inner + ']'.repeat(levels);

describe('an arriving JSON text', () => {
  test('E2: keeps 100 levels, and null in place of deeper ones', () => {
    expect(limited(nested(100))).toBe(nested(100));
    expect(limited(nested(101))).toBe(nested(100, 'null'));
    const deep = `[1,{"a":${nested(200_000, '"]"')}},2]`;
    expect(limited(deep)).toBe(`[1,{"a":${nested(98, 'null')}},2]`);
  });

  test('keeps no more than its first levels for any number of unclosed brackets', () => {
    expect(limited('['.repeat(4_000_000))).toBe(`${'['.repeat(100)}null`);
    expect(limited('{"a":'.repeat(200_000))).toBe(`${'{"a":'.repeat(100)}null`);
  });

  test('may have many values on one level, up to a limit', () => {
    const many = `[${'[],'.repeat(200_000)}[]]`;
    expect(limited(many)).toBe(many);
    expect(limited(`[${'0,'.repeat(500_000)}0]`)).toBe('the reply has more than 500000 values');
  });

  test('keeps the brackets within its strings', () => {
    const text = JSON.stringify([`"\\${'['.repeat(200)}\\"`, { '{{"': '}'.repeat(200) }]);
    for (const size of [1, 2, 3, 65_536]) expect(limited(text, size)).toBe(text);
  });

  test('passes unchanged if it is no JSON object or array', () => {
    for (const text of [`<html>${'['.repeat(200)}`, `"${'['.repeat(200)}"`, '']) {
      expect(limited(text)).toBe(text);
    }
  });

  test('keeps its meaning for any split into pieces', () => {
    const sizes = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), sizes, (text, size) => {
        expect(limited(text, size)).toBe(text);
        const left = /^[[{]/.test(text) ? 'null' : text;
        expect(limited(nested(100, text), size)).toBe(nested(100, left));
        expect(limited(`[${nested(99, text)},1]`, size)).toBe(`[${nested(99, left)},1]`);
      }),
    );
  });
});
