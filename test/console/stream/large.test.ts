import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Console } from '../../../src/console/console.ts';
import { largeFleet } from '../../bench/console/large-fleet.ts';
import { readStream } from '../api/stream-reader.ts';
import { startScriptedConsole } from '../scripted-console.ts';

const MACHINES = 100_000;
const WINDOW = 100;
/** Limit of received bytes until everything is counted, less the budget of the page itself. */
const RECEIVED_MAX = 300_000 - 220_000;
const MESSAGE_MAX = 256 * 1024;

const large = largeFleet(MACHINES);
let shown: Console;
beforeAll(async () => {
  shown = await startScriptedConsole({ fleet: large.fleet });
});
afterAll(() => shown.close());

const open = (query: string, { url } = shown) => readStream(`${url}api/v1/stream?${query}`);
const sizesOf = (events: readonly { readonly data: object }[]) =>
  events.map(({ data }) => JSON.stringify(data).length);

async function list(filter: string) {
  const query = new URLSearchParams({ filter, offset: '0', limit: '50' });
  const answer = await fetch(`${shown.url}api/v1/machines?${query}`);
  return (await answer.json()) as { total: number; machines: { location: string }[] };
}

test('V1: counts 100,000 machines and sends their first rows in few bytes, whatever changes', async () => {
  const [fleet, rows] = [await open('view=fleet'), await open(`view=list&limit=${WINDOW}`)];
  await fleet.until(() => fleet.ofType('frame').length > 0);
  await rows.until(() => rows.ofType('rows').length > 0);
  const [frame] = fleet.ofType('frame');
  expect(frame!.data).toMatchObject({ total: MACHINES, counts: { Running: MACHINES } });
  expect(rows.ofType('rows')[0]!.data).toMatchObject({ total: MACHINES });
  expect(rows.ofType('rows')[0]!.data['upserts']).toHaveLength(WINDOW);
  expect(fleet.bytes() + rows.bytes()).toBeLessThan(RECEIVED_MAX);
  for (let at = 0; at < 10_000; at += 1) large.turn(at, true);
  await rows.until(() => rows.ofType('rows').length > 1);
  expect(Math.max(...sizesOf([...fleet.events, ...rows.events]))).toBeLessThan(MESSAGE_MAX);
  for (const each of [fleet, rows]) each.hangUp();
  for (let at = 0; at < 10_000; at += 1) large.turn(at, false);
});

test('V3: counts matches among 100,000 correctly, key by key, and as they change', async () => {
  const SILENT = 1_234;
  const inFr2 = (nth: number) => nth * 5 + 2;
  for (let nth = 0; nth < SILENT; nth += 1) large.turn(inFr2(nth), true);
  expect((await list('fr2')).total).toBe(MACHINES / 5);
  const found = await list('fr2 silent');
  expect(found.total).toBe(SILENT);
  expect(new Set(found.machines.map(({ location }) => location))).toEqual(new Set(['fr2']));
  expect((await list('silent fr2')).total).toBe(SILENT);
  expect((await list('fr2 silentt')).total).toBe(0);
  large.turn(inFr2(0), false);
  expect((await list('fr2 silent')).total).toBe(SILENT - 1);
});

test('V5: shows the true state in twenty windows after a storm of 10,000', async () => {
  const { fleet, turn } = largeFleet(10_000);
  const stormy = await startScriptedConsole({ fleet });
  const sorts = ['slot', '-slot', 'state', '-since'];
  const readers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      open(`view=list&limit=20&filter=ny5 silent&sort=${sorts[at % sorts.length]}`, stormy),
    ),
  );
  for (let at = 0; at < 10_000; at += 1) turn(at, at % 4 !== 0);
  const totalOf = ({ events }: (typeof readers)[number]) =>
    events.findLast(({ data }) => data['total'] !== undefined)?.data['total'];
  // Every fifth machine is in ny5, and three of four are silent now.
  for (const each of readers) await each.until(() => totalOf(each) === 1_500);
  for (const each of readers) each.hangUp();
  await stormy.close();
});
