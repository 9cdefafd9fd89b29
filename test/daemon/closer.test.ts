import { beforeEach, expect, test } from 'vitest';
import { createCloser, type Closer, tellDaily } from '../../src/daemon/closer.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';

let log: RecordingLog;
let closer: Closer;
let closed: string[];
beforeEach(() => {
  [log, closed] = [recordingLog(), []];
  closer = createCloser(log);
});
const open = (name: string, close: () => Promise<void> | void = () => undefined) =>
  closer.add(name, async () => {
    await close();
    closed.push(name);
  });

test('closes parts in reverse order, one after another', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  open('database');
  open('agent server', () => promise);
  open('console');
  const closing = closer.close();
  await new Promise(setImmediate);
  expect(closed).toEqual(['console']);
  resolve();
  await closing;
  expect(closed).toEqual(['console', 'agent server', 'database']);
  expect(log.lines).toEqual([]);
});

test('names a part that cannot be closed, and closes all others', async () => {
  open('database');
  open('agent server', () => Promise.reject(new Error('it hangs')));
  closer.add('inspector', () => {
    throw new Error('at once');
  });
  await closer.close();
  expect(closed).toEqual(['database']);
  expect(log.lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['warn', { part: 'inspector', cause: 'at once' }],
    ['warn', { part: 'agent server', cause: 'it hangs' }],
  ]);
});

test('closes everything once, however often close is called', async () => {
  open('database');
  open('console');
  await Promise.all([closer.close(), closer.close()]);
  await closer.close();
  expect(closed.toSorted()).toEqual(['console', 'database']);
});

test('closes parts that open during the close', async () => {
  open('database');
  open('console', () => open('late'));
  await closer.close();
  expect(closed).toEqual(['console', 'late', 'database']);
});

const MACHINES = 50;
const MINUTE = 60_000;

test('V49: writes at most one line in an idle hour of fifty machines', async () => {
  const world = createPlayedWorld({ seed: 49, locations: { hall: MACHINES } });
  const { daemon, log } = await world.start({ name: 'one' });
  await advance(world.clock, 30 * MINUTE);
  expect(daemon.board.counts()).toEqual({ Running: MACHINES });
  const before = log.lines.length;

  await advance(world.clock, 60 * MINUTE);
  const lines = log.lines.slice(before);
  expect(lines.some(({ level }) => level === 'debug')).toBe(true);
  const shown = lines.filter(({ level }) => level !== 'debug');
  expect(shown.length, JSON.stringify(shown)).toBeLessThanOrEqual(1);
  await Promise.all([daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

test('logs a fleet summary once a day, until it stops', async () => {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const closer = createCloser(log);
  let running = 49;
  tellDaily(() => ({ Running: running++ }), { clock, log, closer });
  await advance(clock, 3 * 24 * 60 * MINUTE - 1);
  await closer.close();
  expect(clock.pending).toBe(0);
  const said = (days: number, Running: number) => ({
    ...{ level: 'info', message: 'the fleet, once a day', fields: { days, Running } },
  });
  expect(log.lines).toEqual([said(1, 49), said(2, 50)]);
});
