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
interface EventPage {
  readonly events: readonly object[];
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
    ask: (query: string, headers = {}) => askApi<EventPage>(shown, `events${query}`, headers),
  };
}

test('events: writes all matches into a file, page after page', async () => {
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

test('events: lists all details, oldest first', async () => {
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

test('V8 events of a stream: continue by number at another daemon after a kill, without gap or repeat', async () => {
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

test('events of a stream: after=now begins with the next; a storm arrives whole, in order, without repeats', async () => {
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
