import { describe, expect, test } from 'vitest';
import { createNews } from '../../../src/adapters/log/port.ts';
import { createQuietLog } from '../../../src/adapters/log/quiet-log.ts';
import { Denied } from '../../../src/domain/errors.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function quiet() {
  const clock = createSimulatedClock();
  const inner = recordingLog();
  return { clock, log: createQuietLog(inner, 'info', clock), lines: inner.lines };
}

describe('repeated log lines', () => {
  test('V50: reports a machine that fails every ten seconds for an hour in eleven lines', async () => {
    const { clock, log, lines } = quiet();
    const recovery = log.child({ component: 'recovery' });
    for (let at = 0; at < 360; at += 1) {
      recovery.warn({ machine: 'm-1', attempt: at }, 'the agent did not start');
      await advance(clock, 10 * SECOND);
    }
    expect(lines.map(({ message }) => message)).toEqual([
      ...Array(5).fill('the agent did not start'),
      'the agent did not start (55 more)',
      ...Array(5).fill('the agent did not start (60 more)'),
    ]);
    expect(lines.at(-1)).toMatchObject({ level: 'warn', fields: { machine: 'm-1', more: 60 } });
    expect(log.suppressed()).toBe(355);
  });

  test('counts another machine, message, component, severity or error code separately', () => {
    const { log, lines } = quiet();
    for (let at = 0; at < 9; at += 1) {
      log.warn({ machine: 'm-1' }, 'silent');
      log.warn({ machine: 'm-2' }, 'silent');
      log.error({ machine: 'm-1' }, 'silent');
      log.warn({ machine: 'm-1' }, 'hot');
      log.child({ component: 'guard' }).warn({ machine: 'm-1' }, 'silent');
      log.warn({ machine: 'm-1', code: 'unreachable' }, 'silent');
      log.warn({ machine: 'm-1', err: new Denied('no') }, 'silent');
      log.info({}, 'listed');
    }
    expect(lines).toHaveLength(8 * 5);
  });

  test('writes all of five lines in ten minutes, and treats a line after silence as new', async () => {
    const { clock, log, lines } = quiet();
    for (let at = 0; at < 60; at += 1) {
      log.info({}, 'listed');
      await advance(clock, 2 * MINUTE);
    }
    expect(lines.map(({ message }) => message)).toEqual(Array(60).fill('listed'));
    for (let at = 0; at < 6; at += 1) log.info({}, 'stormed');
    await advance(clock, 30 * MINUTE);
    log.info({}, 'stormed');
    const stormed = lines.map(({ message }) => message).filter((text) => text !== 'listed');
    expect(stormed).toEqual([...Array(5).fill('stormed'), 'stormed (1 more)', 'stormed']);
    expect(clock.pending).toBe(0);
  });

  test('reports the counts at the end, and leaves no timer', () => {
    const { clock, log, lines } = quiet();
    for (let at = 0; at < 8; at += 1) log.info({}, 'listed');
    log.close();
    expect(lines.at(-1)).toMatchObject({ message: 'listed (3 more)', fields: { more: 3 } });
    expect(clock.pending).toBe(0);
  });

  test('bounds its memory, and writes kinds beyond ten thousand', () => {
    const { log, lines } = quiet();
    for (let at = 0; at < 10_000; at += 1) log.info({ machine: at }, 'came');
    for (let at = 0; at < 9; at += 1) log.info({ machine: 'one more' }, 'came');
    expect(lines).toHaveLength(10_009);
  });
});

describe('log levels', () => {
  test('V51: makes one component more verbose for a while, and returns by itself', async () => {
    const { clock, log, lines } = quiet();
    const recovery = log.child({ component: 'recovery' });
    const guard = log.child({ component: 'guard' });
    const untilMs = clock.now() + 15 * MINUTE;
    log.levels.set({ level: 'debug', component: 'recovery', untilMs });
    recovery.debug({}, 'seen');
    guard.debug({}, 'not seen');
    expect(lines.map(({ message }) => message)).toEqual(['seen']);
    expect(log.levels.changes()).toEqual([{ level: 'debug', component: 'recovery', untilMs }]);

    await advance(clock, 15 * MINUTE);
    recovery.debug({}, 'not seen');
    expect(lines).toHaveLength(1);
    expect(log.levels.changes()).toEqual([]);
  });

  test('applies the general level to components without their own', () => {
    const { clock, log, lines } = quiet();
    const untilMs = clock.now() + MINUTE;
    log.levels.set({ level: 'error', component: null, untilMs });
    log.levels.set({ level: 'info', component: 'guard', untilMs });
    log.warn({}, 'not seen');
    log.child({ component: 'guard' }).info({}, 'seen');
    log.error({}, 'seen too');
    expect(lines.map(({ message }) => message)).toEqual(['seen', 'seen too']);
  });
});

test('writes a repeated finding at debug level only', () => {
  const { lines, ...inner } = recordingLog();
  const tell = createNews(inner);
  for (const [provider, free, duration] of [
    ['one', 2, 0.1],
    ['one', 2, 0.2],
    ['two', 2, 0.1],
    ['one', 1, 0.1],
  ] as const) {
    tell(provider, { provider, free }, 'listed', { duration });
  }
  expect(lines.map(({ level, fields }) => [level, fields['duration']])).toEqual([
    ['info', 0.1],
    ['debug', 0.2],
    ['info', 0.1],
    ['info', 0.1],
  ]);
});
