import { expect, test } from 'vitest';
import { createCloser, tellDaily } from '../../src/daemon/closer.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';

const MACHINES = 50;
const MINUTE = 60_000;

test('V49: an hour at rest of fifty machines is at most one line', async () => {
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

test('once a day it says how the fleet is, until it stops', async () => {
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
