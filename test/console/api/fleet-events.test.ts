import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { EventSchema } from '../../../src/console/api/event-schema.ts';
import type { NewEvent } from '../../../src/domain/events/fleet-event.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { askApi, openConsole } from './console-stand.ts';
import { readStream } from './stream-reader.ts';

const MACHINE = '00000000-0000-4000-8000-000000000001';
const FREEZE: NewEvent = {
  ...{ type: 'guard.frozen', actor: 'ann', reason: 'fire' },
  details: { scope: 'fleet', kind: 'manual' },
};
const HOLD: NewEvent = {
  ...{ type: 'hold.expired', actor: 'ann', reason: 'looked at', details: { kind: 'no-start' } },
  ...{ provider: providerName('rack'), slotId: 'a/b', machineId: MACHINE as never },
};
interface Page {
  readonly events: readonly { readonly number: string; readonly type: string }[];
  readonly next: string;
  readonly more: boolean;
}

const newBmdb = () =>
  createMemBmdb({
    ...{ clock: systemClock, random: systemRandom, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET },
  });

async function stand(bmdb = newBmdb()) {
  const shown = await openConsole({ events: bmdb.events, streamLimits: { batchMs: 5 } });
  return {
    bmdb,
    shown,
    add: async (...events: readonly NewEvent[]) => {
      for (const event of events) await bmdb.events.append(event);
    },
    ask: (query: string, headers = {}) => askApi<Page>(shown, `events${query}`, headers),
  };
}

test('events: all that match go into a file, page after page', async () => {
  const { add, shown } = await stand();
  const many = Array.from({ length: 1_001 }, () => FREEZE);
  await add(HOLD, ...many);
  const file = await fetch(`${shown.url}api/v1/events?type=guard.*&format=ndjson&limit=2`);
  const { headers } = file;
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  expect(headers.get('content-disposition')).toBe('attachment; filename="events.ndjson"');
  const told = (await file.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { number: string });
  expect(told.map(({ number }) => number)).toEqual(many.map((_, at) => String(at + 2)));
});

test('events: oldest first, with all that is told of them', async () => {
  const { add, ask } = await stand();
  await add(FREEZE, HOLD);
  const { body, status } = await ask('');
  expect(status).toBe(200);
  expect(body).toEqual({
    events: [
      {
        ...{ number: '1', type: 'guard.frozen', atMs: expect.any(Number), slot: null },
        ...{ provider: null, machineId: null, actor: 'ann', reason: 'fire', from: null, to: null },
        details: { scope: 'fleet', kind: 'manual' },
      },
      expect.objectContaining({
        number: '2',
        slot: 'rack/a/b',
        provider: 'rack',
        machineId: MACHINE,
      }),
    ],
    ...{ next: '2', more: false },
  });
  for (const event of body.events) expect(EventSchema.parse(event)).toEqual(event);
});

test('events: page by page by number, by `next` or by the header `link`', async () => {
  const { add, ask, shown } = await stand();
  await add(FREEZE, HOLD, FREEZE);
  const first = await ask('?limit=2');
  expect([first.body.next, first.body.more]).toEqual(['2', true]);
  expect(first.headers.get('link')).toBe('</api/v1/events?after=2&limit=2>; rel="next"');
  const second = await ask(`?limit=2&after=${first.body.next}`);
  expect(second.body).toMatchObject({ events: [{ number: '3' }], next: '3', more: false });
  const now = await ask('?after=now');
  expect(now.body).toEqual({ events: [], next: '3', more: false });
  await add(HOLD);
  const { body } = await askApi<Page>(shown, 'events?after=3');
  expect(body.events.map(({ number }) => number)).toEqual(['4']);
});

test('events: only some, by type, group, provider or machine; what makes no sense is refused', async () => {
  const { add, ask } = await stand();
  await add(FREEZE, HOLD);
  const numbers = async (query: string) =>
    (await ask(query)).body.events.map((each) => each.number);
  expect(await numbers('?type=hold.*,access.login')).toEqual(['2']);
  expect(await numbers('?provider=rack')).toEqual(['2']);
  expect(await numbers(`?machine=${MACHINE}`)).toEqual(['2']);
  expect(await numbers('?type=access.login')).toEqual([]);
  for (const query of ['?type=machine', '?machine=x', '?after=-1', '?limit=1001', '?other=1']) {
    const { status, body } = await ask(query);
    expect([status, body], query).toMatchObject([400, { code: 'malformed' }]);
  }
});

test('events: the latest ones, and only from a moment on', async () => {
  const { add, ask, bmdb } = await stand();
  await add(HOLD, FREEZE, HOLD, FREEZE);
  const { body } = await ask('?tail=2&type=guard.*');
  expect(body).toMatchObject({
    events: [{ number: '2' }, { number: '4' }],
    next: '4',
    more: false,
  });
  const { headers } = await ask('?tail=1');
  expect(headers.get('link')).toBe('</api/v1/events?after=4&limit=100>; rel="next"');
  const { events } = await bmdb.events.latest({ limit: 1 }, new AbortController().signal);
  expect((await ask(`?tail=9&sinceMs=${events[0]!.atMs + 1}`)).body.events).toEqual([]);
  for (const query of ['?tail=0', '?tail=1&after=2', '?tail=1&format=ndjson', '?sinceMs=1']) {
    expect(await ask(query), query).toMatchObject({ status: 400, body: { code: 'malformed' } });
  }
});

test('events: as lines for programs that read lines', async () => {
  const { add, shown } = await stand();
  await add(FREEZE, HOLD);
  const answer = await fetch(`${shown.url}api/v1/events`, {
    headers: { accept: 'application/x-ndjson' },
  });
  expect(answer.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
  const lines = (await answer.text()).split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => (JSON.parse(line) as { number: string }).number)).toEqual(['1', '2']);
  expect(answer.headers.get('link')).toContain('after=2');
});

test('V8 events of a stream: the daemon is killed, another goes on by their numbers, without gap or repeat', async () => {
  const one = await stand();
  const other = await stand(one.bmdb);
  const open = (from: typeof one, last?: string) =>
    readStream(`${from.shown.url}api/v1/stream?view=events&type=guard.*`, last);
  await one.add(FREEZE, HOLD, FREEZE);
  const first = await open(one);
  const seen = ({ ofType }: typeof first) => ofType('event').map(({ id }) => id);
  await first.until(() => seen(first).length === 2);
  expect(first.ofType('hello')[0]!.data).toMatchObject({ resume: 'full' });
  expect(first.ofType('frame')).toEqual([]);
  expect(first.ofType('event')[0]!.data).toMatchObject({ number: '1', type: 'guard.frozen' });
  await one.add(FREEZE);
  await first.until(() => seen(first).length === 3);
  first.hangUp();
  await one.shown.close();
  await other.add(HOLD, FREEZE, FREEZE);
  const second = await open(other, first.lastId()!);
  await second.until(() => seen(second).length === 2);
  await other.add(FREEZE);
  await second.until(() => seen(second).length === 3);
  expect(second.ofType('hello')[0]!.data).toMatchObject({ resume: 'delta' });
  expect([...seen(first), ...seen(second)]).toEqual(['1', '3', '4', '6', '7', '8']);
  second.hangUp();
});

test('events of a stream: after=now begins with the next; a storm comes whole, in order, and none twice', async () => {
  const { add, shown } = await stand();
  await add(...Array.from({ length: 300 }, () => FREEZE));
  const all = await readStream(`${shown.url}api/v1/stream?view=events`);
  const late = await readStream(`${shown.url}api/v1/stream?view=events&after=now`);
  await late.until(() => late.ofType('hello').length === 1);
  await add(...Array.from({ length: 1_500 }, () => HOLD));
  const ids = (stream: typeof all) => stream.ofType('event').map(({ id }) => Number(id));
  const from = (least: number, length: number) => Array.from({ length }, (_, at) => least + at);
  await all.until(() => ids(all).length === 1_800);
  await late.until(() => ids(late).length === 1_500);
  expect(ids(all)).toEqual(from(1, 1_800));
  expect(ids(late)).toEqual(from(301, 1_500));
  all.hangUp();
  late.hangUp();
});
