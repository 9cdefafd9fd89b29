import { expect, test } from 'vitest';
import type { ServiceManager } from '../../src/adapters/systemd/port.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { createService } from '../../src/daemon/service.ts';
import { createSimulatedClock } from '../doubles/simulated-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What systemd receives: one entry per notification. */
function stand({ watchdogMs = MINUTE }: Partial<Pick<ServiceManager, 'watchdogMs'>> = {}) {
  const told: string[] = [];
  const manager: ServiceManager = {
    isThere: true,
    watchdogMs,
    sockets: new Map(),
    ready: (status) => void told.push(`READY ${status}`),
    status: (text) => void told.push(`STATUS ${text}`),
    alive: () => void told.push('WATCHDOG'),
    reloading: () => void told.push('RELOADING'),
    stopping: () => void told.push('STOPPING'),
    extend: (forMs) => void told.push(`EXTEND ${forMs}`),
    close: async () => void told.push('closed'),
  };
  const clock = createSimulatedClock();
  const service = createService(manager, clock, () => '3 machines: 3 Running');
  const states = scriptedSupervisor();
  let turns = true;
  const daemon = {
    supervisor: states.actor,
    takesTurns: () => turns,
    reload: async () => void told.push('reload'),
  };
  const since = () => told.splice(0);
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= SECOND) clock.increment(SECOND);
  };
  return { service, daemon, clock, pass, since, states, crash: () => (turns = false) };
}

/** A supervisor whose state the test sets. */
function scriptedSupervisor() {
  let snapshot: unknown;
  const listeners = new Set<{ next(snapshot: unknown): void }>();
  const put = (value: object, failure: string | null = null, status = 'active') => {
    snapshot = {
      status,
      context: { failure: failure === null ? null : { code: 'unreachable', message: failure } },
      matches: (part: object) => JSON.stringify(part) === JSON.stringify(value),
    };
    for (const each of listeners) each.next(snapshot);
  };
  put({ active: { attended: 'opening' } });
  const actor = {
    getSnapshot: () => snapshot,
    subscribe(listener: { next(snapshot: unknown): void }) {
      listeners.add(listener);
      return { unsubscribe: () => listeners.delete(listener) };
    },
  } as unknown as Daemon['supervisor'];
  return {
    actor,
    work: () => put({ active: { attended: 'working' } }),
    crash: () => put({}, null, 'error'),
    lose: (why: string) => put({ active: 'fenced' }, why),
  };
}

test('V61 delays READY until the first try at a session, and reports that the start continues', async () => {
  const { service, daemon, clock, pass, since, states } = stand();
  clock.increment(10_000);
  expect(since()).toEqual(['EXTEND 30000', 'EXTEND 30000']);
  const started = service.started(daemon);
  expect(since()).toEqual([]);
  states.lose('the database does not answer');
  await started;
  const away = 'no session, so work stops: the database does not answer; 3 machines: 3 Running';
  expect(since()).toEqual([`READY ${away}`, 'WATCHDOG']);
  pass(MINUTE);
  expect(since(), 'on with the database away').toEqual(['WATCHDOG', 'WATCHDOG', 'WATCHDOG']);
  states.work();
  expect(since()).toEqual(['STATUS at work; 3 machines: 3 Running']);
});

test('reports no reload before READY, and no READY of a crashed supervisor', async () => {
  const { service, daemon, since, states } = stand();
  since();
  const started = service.started(daemon);
  await service.reload(daemon);
  expect(since()).toEqual(['reload']);
  states.crash();
  await started;
  expect(since()).toEqual([]);
});

test('V61 sends a sign of life every 20 s of 60, and none for a supervisor that takes no turn', async () => {
  const { service, daemon, clock, pass, since, states, crash } = stand();
  states.work();
  await service.started(daemon);
  expect(since()).toEqual(['EXTEND 30000', 'READY at work; 3 machines: 3 Running', 'WATCHDOG']);
  clock.increment(19_999);
  expect(since()).toEqual([]);
  clock.increment(1);
  expect(since()).toEqual(['WATCHDOG']);
  crash();
  pass(10 * MINUTE);
  expect(since()).toEqual([]);
});

test('ends a reload with READY; extends the time of a stop, but not for ever', async () => {
  const { service, daemon, clock, pass, since, states } = stand({ watchdogMs: null });
  states.work();
  await service.started(daemon);
  since();
  await service.reload(daemon);
  expect(since()).toEqual(['RELOADING', 'reload', 'READY at work; 3 machines: 3 Running']);
  service.stopping();
  expect(since()).toEqual(['STOPPING', 'EXTEND 30000', 'WATCHDOG']);
  await service.reload(daemon);
  expect(since(), 'no READY after STOPPING').toEqual(['RELOADING', 'reload']);
  pass(10 * MINUTE);
  expect(since().filter((each) => each.startsWith('EXTEND'))).toHaveLength(11);
  await service.end();
  expect(clock.pending).toBe(0);
});
