import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { table } from 'table';
import { readStream } from '../../console/api/stream-reader.ts';
import { startScriptedConsole } from '../../console/scripted-console.ts';
import { largeFleet } from '../console/large-fleet.ts';
import { measureBringUp } from '../fleet/bring-up.ts';
import { startServer } from '../fleet/database.ts';
import { heapInUse, median, quantile, rounded } from '../measure.ts';
import type { Report, SuiteOptions } from '../suite.ts';

const MACHINES = 100_000;
const READERS = 20;
const TRANSITIONS_PER_SECOND = 1_000;
const JUMPS = 60;
const WINDOW = 100;
const BROUGHT_UP = 4_000;
/** What the page keeps as it is. */
const LIVE_ROWS = 200;
/** By default. */
const HEARTBEAT_MS = 30_000;

const timed = async (ask: () => Promise<unknown>): Promise<number> => {
  const beganMs = performance.now();
  await ask();
  return performance.now() - beganMs;
};
async function each(count: number, ask: (at: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) times.push(await timed(() => ask(at)));
  return times;
}
const figures = (times: readonly number[]) => ({
  p50: rounded(quantile(times, 0.5)),
  p95: rounded(quantile(times, 0.95)),
  max: rounded(Math.max(...times)),
});

/** Length of the first message of a stream, and until when it was there. */
async function firstMessage(url: string): Promise<{ ms: number; bytes: number }> {
  const beganMs = performance.now();
  const leave = new AbortController();
  const answer = await fetch(url, { signal: leave.signal });
  let bytes = 0;
  for await (const chunk of answer.body!) {
    bytes += chunk.length;
    if (Buffer.from(chunk).subarray(-2).toString() === '\n\n' && bytes > 1_000) break;
  }
  leave.abort();
  return { ms: rounded(performance.now() - beganMs), bytes };
}

/**
 * Machines a second that a whole daemon brings up from reservations to running agents, each some four
 * transitions, without pages and with that many; the pages read in a process of their own.
 */
async function besideReaders({ scale, rounds, progress }: SuiteOptions, readers: number) {
  const server = await startServer();
  const rates = { without: [] as number[], with: [] as number[] };
  try {
    const machines = Math.max(50, Math.round(BROUGHT_UP * scale));
    const work = { server, machines, parallelism: 50 };
    for (let round = 1; round <= rounds; round += 1) {
      for (const [name, pages] of [['without', 0] as const, ['with', readers] as const]) {
        const { machinesPerSecond } = await measureBringUp({ ...work, readers: pages });
        rates[name].push(machinesPerSecond);
        progress(`round ${round}: ${rounded(machinesPerSecond)} machines/s with ${pages} pages`);
      }
    }
  } finally {
    await server.close();
  }
  const ratios = rates.with.map((rate, at) => rate / rates.without[at]!);
  return { machinesPerSecond: rounded(median(rates.without)), ratio: rounded(median(ratios)) };
}

/** Readers and console share this process, so what readers cost is in the figures of the event loop. */
async function run(options: SuiteOptions): Promise<Report> {
  const { scale, spanMs, progress } = options;
  const machines = Math.max(200, Math.round(MACHINES * scale));
  const readers = Math.max(2, Math.round(READERS * Math.min(1, scale * 10)));
  const { fleet, turn, beat } = largeFleet(machines);
  const heapBefore = heapInUse();
  const shown = await startScriptedConsole({ fleet });
  const get = async (path: string) => {
    const answer = await fetch(`${shown.url}api/v1/${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return (await answer.text()).length;
  };
  const list = (query: string) => get(`machines?${query}`);
  progress(`${machines} machines, ${readers} readers`);

  const first = await readStream(`${shown.url}api/v1/stream?view=list&limit=${WINDOW}`);
  const firstMs = await timed(() => first.until(() => first.ofType('rows').length > 0));
  const firstBytes = first.bytes();
  first.hangUp();
  const firstSortMs = await timed(() => list('sort=since&offset=0&limit=100'));
  const jumpMs = await each(JUMPS, (at) =>
    list(`offset=${Math.floor((at * machines) / JUMPS)}&limit=${WINDOW}`),
  );
  const typed = 'am6 silent';
  const keys = Array.from(typed, (_, at) => typed.slice(0, at + 1).trim());
  const keyMs = await each(keys.length, (at) =>
    list(`filter=${encodeURIComponent(keys[at]!)}&offset=0&limit=${WINDOW}`),
  );
  const listMs = await each(200, () => list('limit=100'));
  progress('at rest, then a storm');

  const open = await Promise.all(
    Array.from({ length: readers }, (_, at) =>
      readStream(
        `${shown.url}api/v1/stream?view=list&limit=${LIVE_ROWS}&sort=${at % 2 ? 'slot' : '-state'}`,
      ),
    ),
  );
  // What a stream begins with is told above.
  for (const each of open) await each.until(() => each.ofType('rows').length > 0);
  const rate = async (doing: () => void) => {
    const before = open.reduce((sum, each) => sum + each.bytes(), 0);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const beganMs = performance.now();
    while (performance.now() - beganMs < spanMs) {
      doing();
      await pause(50);
    }
    delay.disable();
    const bytes = open.reduce((sum, each) => sum + each.bytes(), 0) - before;
    const seconds = (performance.now() - beganMs) / 1_000;
    return {
      bytesPerSecondAndPage: rounded(bytes / seconds / readers),
      loopDelayP99Ms: rounded(delay.percentile(99) / 1e6),
      loopDelayMaxMs: rounded(delay.max / 1e6),
    };
  };
  const begunMs = performance.now();
  let heard = 0;
  const rest = await rate(() => {
    const due = ((performance.now() - begunMs) / HEARTBEAT_MS) * machines;
    for (; heard < due; heard += 1) beat((heard * 7_919) % machines);
  });
  let turned = 0;
  const storm = await rate(() => {
    for (let at = 0; at < TRANSITIONS_PER_SECOND / 20; at += 1) {
      turned += 1;
      turn((turned * 7_919) % machines, turned % 2 === 0);
    }
  });
  const heapMb = rounded((heapInUse() - heapBefore) / 1e6);
  for (const each of open) each.hangUp();

  // What a page was sent before there were windows.
  const old = await firstMessage(`${shown.url}events`);
  await shown.close();
  const bringUp = await besideReaders(options, readers);

  const json = {
    ...{ machines, readers },
    first: { ms: rounded(firstMs), bytes: firstBytes },
    firstSortMs: rounded(firstSortMs),
    jumpMs: figures(jumpMs),
    filterKeyMs: figures(keyMs),
    listMs: figures(listMs),
    ...{ rest, storm, heapMb, bringUp },
    before: { first: old },
  };
  const rows = Object.entries(json).map(([name, value]) => [name, JSON.stringify(value)]);
  return { json, table: table(rows) };
}

export const suite = { summary: 'the console with many machines and many pages', run };
