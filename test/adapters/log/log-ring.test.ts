import { describe, expect, test } from 'vitest';
import { createLogRing } from '../../../src/adapters/log/log-ring.ts';
import { createDaemonLog } from '../../../src/adapters/log/pino-log.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const ALL = { after: 0, level: 'debug', sinceMs: 0, about: null, limit: 100 } as const;

const lineOf = (more: object) =>
  JSON.stringify({ level: 'info', time: '2025-11-01T12:00:00.000Z', msg: 'one', ...more });

describe('a ring of log lines', () => {
  test('keeps the latest lines and their numbers', () => {
    const ring = createLogRing(2);
    for (const msg of ['one', 'two', 'three']) ring.write(lineOf({ msg }));
    expect(ring.read(ALL).map(({ number, message }) => [number, message])).toEqual([
      [2, 'two'],
      [3, 'three'],
    ]);
    expect(ring.read({ ...ALL, after: 2 }).map(({ number }) => number)).toEqual([3]);
    expect(ring.read({ ...ALL, after: 3 })).toEqual([]);
    expect(ring.read({ ...ALL, after: 1, limit: 1 }).map(({ number }) => number)).toEqual([3]);
    expect(ring.newest()).toBe(3);
  });

  test('drops old lines when the total length exceeds the limit', () => {
    const ring = createLogRing(100, 3 * lineOf({}).length);
    for (let n = 0; n < 5; n += 1) ring.write(lineOf({}));
    expect(ring.read(ALL)).toHaveLength(3);
  });

  test('selects by severity, time, slot and machine', () => {
    const ring = createLogRing();
    ring.write(lineOf({ level: 'warn', slot: 'metal/a' }));
    ring.write(lineOf({ machine: 'm1', time: '2025-11-01T12:00:01.000Z' }));
    ring.write(lineOf({ slot: 'metal/b' }));
    const numbers = (change: object) =>
      ring.read({ ...ALL, ...change }).map(({ number }) => number);
    expect(numbers({ level: 'warn' })).toEqual([1]);
    expect(numbers({ sinceMs: Date.UTC(2025, 10, 1, 12, 0, 1) })).toEqual([2]);
    expect(numbers({ about: { slot: 'metal/a', machineId: 'm1' } })).toEqual([1, 2]);
    expect(numbers({ about: { slot: 'metal/b', machineId: null } })).toEqual([3]);
  });
});

test("keeps the lines of a daemon's log with their secrets redacted, and writes them too", () => {
  const written: string[] = [];
  const log = createDaemonLog(
    {
      level: 'info',
      format: 'journal',
      isTerminal: false,
      write: (line) => void written.push(line),
    },
    createSimulatedClock(),
  );
  log.child({ component: 'recovery' }).warn({ slot: 'metal/a', token: 'hush' }, 'machine rebooted');
  log.debug({}, 'a step');
  log.close();
  expect(log.recent.read(ALL)).toMatchObject([
    {
      ...{ number: 1, level: 'warn', component: 'recovery', message: 'machine rebooted' },
      fields: { slot: 'metal/a', token: '[secret]' },
    },
  ]);
  expect(written).toEqual([expect.stringMatching(/^<4>\{.*machine rebooted/)]);
});

test('a field never replaces the severity, time or message of its line', () => {
  const log = createDaemonLog(
    { level: 'info', format: 'json', isTerminal: false, write: () => undefined },
    createSimulatedClock(),
  );
  const fields = { provider: 'metal', level: 2, time: 'soon', msg: 'y' };
  log.child({ component: 'providers' }).warn(fields, 'a hold on the provider is imposed');
  log.close();
  const [record] = log.recent.read(ALL);
  expect(record).toMatchObject({
    ...{ level: 'warn', component: 'providers', message: 'a hold on the provider is imposed' },
    fields: { provider: 'metal', level_: 2, time_: 'soon', msg_: 'y' },
  });
  expect(record!.atMs).toBeGreaterThan(0);
});
