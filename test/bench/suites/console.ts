import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { readStream } from '../../console/api/stream-reader.ts';
import { startScriptedConsole } from '../../console/scripted-console.ts';
import { largeFleet } from '../console/large-fleet.ts';
import { heapInUse, quantile } from '../measure.ts';
import { roundedOf, scaled, type Suite, type SuiteOptions } from '../suite.ts';

const MACHINES = 100_000;
const READERS = 20;
const TRANSITIONS_PER_SECOND = 1_000;
const JUMPS = 60;
const WINDOW = 100;
/** Rows that the page keeps; the default. */
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
  p50: quantile(times, 0.5),
  p95: quantile(times, 0.95),
  max: Math.max(...times),
});

/** Readers and console share this process, so the event loop's figures include the readers. */
async function run(options: SuiteOptions): Promise<object> {
  const { scale, spanMs, progress } = options;
  const machines = scaled(MACHINES, options, 200);
  const readers = scaled(READERS, { scale: Math.min(1, scale * 10) }, 2);
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

  const opened = await readStream(`${shown.url}api/v1/stream?view=list&limit=${WINDOW}`);
  const firstMs = await timed(() => opened.until(() => opened.ofType('rows').length > 0));
  const firstBytes = opened.bytes();
  opened.hangUp();
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
  // The stream's first events are measured above.
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
      bytesPerSecondAndPage: bytes / seconds / readers,
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
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
  const heapMb = (heapInUse() - heapBefore) / 1e6;
  for (const each of open) each.hangUp();

  await shown.close();
  const times = { jumpMs: figures(jumpMs), filterKeyMs: figures(keyMs), listMs: figures(listMs) };
  const first = { ms: firstMs, bytes: firstBytes };
  return { machines, readers, ...roundedOf({ first, firstSortMs, ...times, rest, storm, heapMb }) };
}

export const suite: Suite = { summary: 'the console with many machines and many pages', run };
