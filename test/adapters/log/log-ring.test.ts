import { describe, expect, test } from 'vitest';
import { createLogRing, type LogRing } from '../../../src/adapters/log/log-ring.ts';
import { createDaemonLog } from '../../../src/adapters/log/pino-log.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const ALL = { after: 0, level: 'debug', sinceMs: 0, about: null, limit: 100 } as const;

const lineOf = (more: object) =>
  JSON.stringify({ level: 'info', time: '2025-11-01T12:00:00.000Z', msg: 'one', ...more });
const numbersIn = (ring: LogRing, change: object = {}) =>
  ring.read({ ...ALL, ...change }).records.map(({ number }) => number);

describe('a ring of log lines', () => {
  test('keeps the latest lines and their numbers', () => {
    const ring = createLogRing(0, 2);
    for (const msg of ['one', 'two', 'three']) ring.write(lineOf({ msg }));
    expect(ring.read(ALL).records.map(({ number, message }) => [number, message])).toEqual([
      [2, 'two'],
      [3, 'three'],
    ]);
    expect(numbersIn(ring, { after: 2 })).toEqual([3]);
    expect(numbersIn(ring, { after: 3 })).toEqual([]);
    expect(numbersIn(ring, { limit: 1 })).toEqual([3]);
    expect(ring.read(ALL).newest).toBe(3);
  });

  test('gives a reader that continues each line once, in pages, and counts lines that are gone', () => {
    const ring = createLogRing(0, 4);
    for (let n = 0; n < 6; n += 1) ring.write(lineOf({}));
    const first = ring.read({ ...ALL, after: 1, limit: 3 });
    expect([first.records.map(({ number }) => number), first.newest]).toEqual([[3, 4, 5], 5]);
    expect(first.lost).toBe(1);
    const next = ring.read({ ...ALL, after: first.newest, limit: 3 });
    expect([next.records.map(({ number }) => number), next.newest]).toEqual([[6], 6]);
    expect(next.lost).toBe(0);
  });

  test('gives a reader of an earlier process all lines, even after more lines than that process wrote', () => {
    const before = createLogRing(1_000);
    before.write(lineOf({}));
    const { newest: after } = before.read(ALL);
    const restarted = createLogRing(5_000);
    for (let n = 0; n < 3; n += 1) restarted.write(lineOf({}));
    expect(restarted.read({ ...ALL, after })).toMatchObject({ newest: 5_003, lost: 0 });
    expect(numbersIn(restarted, { after })).toEqual([5_001, 5_002, 5_003]);
    // The other daemon started earlier, or the clock was set back.
    expect(numbersIn(before, { after: 5_003 })).toEqual([1_001]);
  });

  test('drops old lines when the total length exceeds the limit', () => {
    const ring = createLogRing(0, 100, 3 * lineOf({}).length);
    for (let n = 0; n < 5; n += 1) ring.write(lineOf({}));
    expect(numbersIn(ring)).toHaveLength(3);
  });

  test('selects by severity, time, slot and machine', () => {
    const ring = createLogRing();
    ring.write(lineOf({ level: 'warn', slot: 'metal/a' }));
    ring.write(lineOf({ machine: 'm1', time: '2025-11-01T12:00:01.000Z' }));
    ring.write(lineOf({ slot: 'metal/b' }));
    const numbers = (change: object) => numbersIn(ring, change);
    expect(numbers({ level: 'warn' })).toEqual([1]);
    expect(numbers({ sinceMs: Date.UTC(2025, 10, 1, 12, 0, 1) })).toEqual([2]);
    expect(numbers({ about: { slot: 'metal/a', machineId: 'm1' } })).toEqual([1, 2]);
    expect(numbers({ about: { slot: 'metal/b', machineId: null } })).toEqual([3]);
  });
});

test("keeps the lines of a daemon's log with their secrets redacted, and writes them too", () => {
  const written: string[] = [];
  const clock = createSimulatedClock();
  const log = createDaemonLog(
    {
      level: 'info',
      format: 'journal',
      isTerminal: false,
      write: (line) => void written.push(line),
    },
    clock,
  );
  log.child({ component: 'recovery' }).warn({ slot: 'metal/a', token: 'hush' }, 'machine rebooted');
  log.debug({}, 'a step');
  log.close();
  expect(log.recent.read(ALL).records).toMatchObject([
    {
      ...{
        number: clock.now() * 1_000 + 1,
        level: 'warn',
        component: 'recovery',
        message: 'machine rebooted',
      },
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
  const [record] = log.recent.read(ALL).records;
  expect(record).toMatchObject({
    ...{ level: 'warn', component: 'providers', message: 'a hold on the provider is imposed' },
    fields: { provider: 'metal', level_: 2, time_: 'soon', msg_: 'y' },
  });
  expect(record!.atMs).toBeGreaterThan(0);
});
