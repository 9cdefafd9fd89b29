import { expect } from 'vitest';
import {
  createFour,
  CUT,
  FOUR,
  isPending,
  names,
  type NumberedProof,
  pages,
  PATIENT,
} from './fault-steps.ts';
import { PLACE, SECOND } from './harness.ts';

/** What each fault of requests and lists does, and that it is over with its rule. */
export const REQUEST_FAULTS: readonly NumberedProof[] = [
  [
    1,
    'latency',
    async (latitude) => {
      latitude.fault({ type: 'latency', ms: 500 }, { times: 1 });
      const asked = latitude.listed();
      expect(await isPending(asked, latitude, 499)).toBe(true);
      await latitude.fake.advance(1);
      expect((await asked).status).toBe(200);
    },
  ],
  [
    2,
    'dropped before anything is done',
    async (latitude) => {
      latitude.fault({ type: 'drop', phase: 'before' }, { times: 1 });
      await expect(latitude.create('a')).rejects.toThrow(CUT);
      expect(names(latitude)).toEqual([]);
      expect((await latitude.create('a')).status).toBe(201);
    },
  ],
  [
    3,
    'dropped after it was done',
    async (latitude) => {
      latitude.fault({ type: 'drop', phase: 'after' }, { match: { method: 'POST' }, times: 1 });
      await expect(latitude.create('a')).rejects.toThrow(CUT);
      expect(names(latitude)).toEqual(['a']);
      expect(latitude.fake.requests().at(-1)).toMatchObject({ executed: true, fate: 'dropped' });
    },
  ],
  [
    4,
    'accepted, and no answer',
    async ({ fake, fault, listed, ask }) => {
      fault({ type: 'hang', phase: 'before' }, { times: 1 });
      const patience = new AbortController();
      const asked = ask('GET', '/servers', { signal: patience.signal });
      await expect.poll(() => fake.requests().at(-1)?.fate).toBe('hung');
      patience.abort();
      await expect(asked).rejects.toThrow(/abort/);
      expect((await listed()).status).toBe(200);
    },
  ],
  [
    5,
    '5xx before and after execution',
    async (latitude) => {
      latitude.fault({ type: 'status', code: 503 }, { times: 1 });
      expect((await latitude.create('a')).status).toBe(503);
      expect(names(latitude)).toEqual([]);
      latitude.fault({ type: 'status', code: 502, executed: true }, { times: 1 });
      expect((await latitude.create('b')).status).toBe(502);
      expect(names(latitude)).toEqual(['b']);
    },
  ],
  [
    6,
    'a 2xx that is HTML, or cut',
    async (latitude) => {
      latitude.fault({ type: 'garbage', kind: 'html' }, { times: 1 });
      const html = await latitude.create('a', {}, PATIENT);
      expect([html.status, html.headers.get('content-type')]).toEqual([201, 'text/html']);
      expect(html.text).toMatch(/^<!DOCTYPE html>/);
      latitude.fault({ type: 'garbage', kind: 'truncated' }, { times: 1 });
      const cut = await latitude.create('b', {}, PATIENT);
      expect([cut.status, cut.data.id]).toEqual([201, '']);
      expect(names(latitude)).toEqual(['a', 'b']);
    },
  ],
  [
    7,
    '429 that says for how long, in the body or the header, or does not',
    async ({ fault, create, listed }) => {
      fault({ type: 'rateLimit', retryAfterS: 60 }, { match: { method: 'POST' }, times: 1 });
      const told = await create('a');
      expect([told.status, told.errors[0]?.code, told.errors[0]?.meta.retry_after]).toEqual([
        429,
        'RATE_LIMIT_EXCEEDED',
        60,
      ]);
      expect((await listed()).status).toBe(200);
      fault({ type: 'rateLimit', retryAfterS: 30, header: true }, { times: 1 });
      const headed = await create('a');
      expect([headed.headers.get('retry-after'), headed.errors[0]?.meta]).toEqual(['30', {}]);
      fault({ type: 'rateLimit', retryAfterS: null }, { times: 1 });
      const untold = await create('a');
      expect([untold.headers.get('retry-after'), untold.errors[0]?.meta]).toEqual([null, {}]);
      expect((await create('a')).status).toBe(201);
    },
  ],
  [
    8,
    'stock runs out between look and POST',
    async ({ fake, ask, fault, create }) => {
      fault({ type: 'stockOut' }, { times: 1 });
      const { list } = await ask('GET', `/plans?filter[slug]=${PLACE.plan}`);
      expect(JSON.stringify(list[0])).toContain('"in_stock":["ASH"');
      const refused = await create('a');
      expect([refused.status, refused.errors[0]?.detail]).toEqual([
        422,
        expect.stringMatching(/stock/),
      ]);
      expect((await create('a')).status).toBe(201);
      expect(fake.stock()[PLACE.plan]![PLACE.site]).toBe(19);
    },
  ],
  [
    9,
    'quota',
    async ({ fault, create }) => {
      fault({ type: 'quota' }, { times: 1 });
      const refused = await create('a');
      expect([refused.status, refused.errors[0]?.detail]).toEqual([
        422,
        expect.stringMatching(/limit/),
      ]);
      expect((await create('a')).status).toBe(201);
    },
  ],
  [
    10,
    'lists lag',
    async ({ fake, fault, create, record, listed, ask, server }) => {
      fault({ type: 'listLag', ms: 30 * SECOND });
      const { id } = (await create('a')).data;
      await record('mark');
      await fake.advance(30 * SECOND - 1);
      expect((await listed()).list).toEqual([]);
      expect((await ask('GET', `/user_data?filter[project]=${fake.project}`)).list).toEqual([]);
      expect((await server(id))['status']).toBe('deploying');
      await fake.advance(1);
      expect((await listed()).list[0]?.attributes['status']).toBe('starting_deploy');
      await fake.advance(30 * SECOND);
      await ask('DELETE', `/servers/${id}`);
      expect((await listed()).list).toHaveLength(1);
      await fake.advance(30 * SECOND);
      expect((await listed()).list).toEqual([]);
    },
  ],
  [
    11,
    'pages shuffled, doubled, omitted, with a total that drifts',
    async (latitude) => {
      await createFour(latitude);
      const spoiled = async (does: 'shuffled' | 'doubled' | 'omitted' | 'drifting') => {
        const { id } = latitude.fault({ type: 'pages', does });
        const found = await pages(latitude, 2, 2);
        latitude.fake.removeFault(id);
        return { found, shown: found.flatMap(({ hostnames }) => hostnames) };
      };
      const doubled = await spoiled('doubled');
      expect(doubled.shown).toEqual(['a', 'a', 'b', 'c']);
      const omitted = await spoiled('omitted');
      expect(omitted.found).toEqual([
        { hostnames: ['a'], total: 4 },
        { hostnames: ['c'], total: 4 },
      ]);
      const [first, second] = (await spoiled('drifting')).found;
      expect(first!.total).not.toBe(second!.total);
      const orders = [];
      for (let n = 0; n < 5; n++) orders.push((await spoiled('shuffled')).shown.join(''));
      expect(new Set(orders).size).toBeGreaterThan(1);
      expect((await pages(latitude, 2, 2)).flatMap(({ hostnames }) => hostnames)).toEqual(FOUR);
    },
  ],
  [
    12,
    'the filter of host names takes prefixes',
    async ({ fault, create, listed }) => {
      await create('shep-1');
      await create('shep-10');
      const found = async () =>
        (await listed('&filter[hostname]=SHEP-1')).list.map((one) => one.attributes['hostname']);
      expect(await found()).toEqual(['shep-1']);
      fault({ type: 'hostnameFilter' }, { times: 1 });
      expect(await found()).toEqual(['shep-1', 'shep-10']);
      expect(await found()).toEqual(['shep-1']);
    },
  ],
  [
    21,
    'description or content cut',
    async ({ fault, record, ask, write }) => {
      fault({ type: 'cut', field: 'content', length: 8 }, { times: 1 });
      const { id, attributes } = (await record('shepherd set name witness')).data;
      expect(attributes).toMatchObject({ description: 'shepherd set name witness' });
      expect(attributes['content']).toHaveLength(8);
      fault({ type: 'cut', field: 'description', length: 10 }, { times: 1 });
      const body = write('user_data', { description: 'shepherd set other' }, id);
      const changed = await ask('PATCH', `/user_data/${id}`, { body });
      expect(changed.data.attributes['description']).toBe('shepherd s');
    },
  ],
  [
    26,
    'token revoked, until there is another',
    async ({ fake, fault, listed, ask }) => {
      const { id } = fault({ type: 'tokenRevoked' });
      expect((await listed()).status).toBe(401);
      const token = fake.issueToken();
      expect((await ask('GET', '/servers', { token })).status).toBe(200);
      expect((await listed()).status).toBe(401);
      fake.removeFault(id);
      expect((await listed()).status).toBe(200);
      fault({ type: 'tokenRevoked', code: 403 }, { match: { method: 'POST' } });
      expect((await listed()).status).toBe(200);
      expect((await ask('POST', '/servers')).status).toBe(403);
    },
  ],
  [
    28,
    'a stranger takes our name',
    async (latitude) => {
      latitude.fault({ type: 'stranger', hostname: 'shep-ash-9' });
      expect(latitude.fake.servers()).toMatchObject([
        { hostname: 'shep-ash-9', status: 'on', userData: null },
      ]);
      latitude.fault({ type: 'stranger' }, { times: 1 });
      const { id } = (await latitude.create('shep-ash-1')).data;
      expect(names(latitude)).toEqual(['shep-ash-9', 'shep-ash-1', 'shep-ash-1']);
      expect(latitude.fake.servers()[2]?.id).toBe(id);
      latitude.fake.setKnobs({ duplicateNames: 'refused' });
      const refused = await latitude.create('shep-ash-1');
      expect(refused.errors[0]?.source?.pointer).toBe('/data/attributes/hostname');
    },
  ],
  [
    29,
    'totals missing',
    async ({ fault, listed }) => {
      fault({ type: 'statsMissing' }, { times: 1 });
      expect((await listed()).meta).toEqual({});
      expect((await listed()).meta).toEqual({ stats: { total: { count: 0 } } });
    },
  ],
  [
    30,
    'page size refused',
    async ({ fault, listed }) => {
      fault({ type: 'pageSizeRefused', above: 25, code: 422 });
      const refused = await listed('&page[size]=26');
      expect([refused.status, refused.errors[0]?.source]).toEqual([
        422,
        { parameter: 'page[size]' },
      ]);
      expect((await listed('&page[size]=25')).status).toBe(200);
    },
  ],
];
