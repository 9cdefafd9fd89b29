import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BmdbSnapshot } from '../../../src/adapters/bmdb/port.ts';
import type { Listing } from '../../../src/adapters/provider/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { machineId, sessionId, slot } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import {
  agentStarted,
  device,
  free,
  machineRow,
  MACHINE,
  provided,
  SLOT,
} from '../../support/facts.ts';
import { runService } from '../../support/fleet-stand-in.ts';
import { mirrorStand, type MirrorStand } from '../../support/mirror-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const SCAN_MS = MINUTE;
const GAP_MS = 250;

let stand: MirrorStand;
let startMs: number;
let { clock, script, heard$, mirror, log, views, vanished, fleet } = {} as MirrorStand;

beforeEach(() => {
  stand = mirrorStand({ scanMs: SCAN_MS, listMs: MINUTE });
  ({ clock, script, heard$, mirror, log, views, vanished, fleet } = stand);
  startMs = clock.now();
});

afterEach(async () => {
  fleet.stop();
  await settled();
  expect(fleet.crashes).toEqual([]);
  expect(clock.pending, 'timers left').toBe(0);
  expect(heard$.observed).toBe(false);
});

/** Answers the oldest open scan and the following ones. */
const answer = async (rows: Partial<BmdbSnapshot> = {}) => {
  await advance(clock, GAP_MS);
  expect(script.scans.length).toBeGreaterThan(0);
  while (script.scans.length > 0) await answerOne(rows);
};
/** A long read is followed by an equally long pause. */
const answerOne = async (rows: Partial<BmdbSnapshot> = {}) => {
  const { beganAtMs, answer: give } = script.scans.shift()!;
  const tookMs = clock.now() - beganAtMs;
  give(rows);
  await advance(clock, Math.max(GAP_MS, tookMs));
};
const reread = () =>
  mirror.reread({ slot: SLOT, machineId: MACHINE }, new AbortController().signal);
const fresh = () => fleet.news.splice(0);
const running = (change: Partial<MachineRow> = {}) =>
  machineRow({
    agentStarted: agentStarted(clock.now() - MINUTE),
    heartbeat: { atMs: clock.now(), bootId: 'boot-1' },
    ...change,
  });
const observed = (state: string, substate: string) =>
  expect.objectContaining({
    type: 'observed',
    view: expect.objectContaining({ state, substate }) as unknown,
  }) as unknown;

describe('scans of the mirror', () => {
  test('turn rows and listings into news once', async () => {
    stand.listing = async () => ({
      machines: [device(), free({ reservationId: 'rack-2' })],
      complete: true,
    });
    const row = running();
    await answer({ machines: [row] });
    expect(fresh()).toEqual([observed('Running', 'healthy'), observed('Reserved', 'available')]);
    script.wake();
    await answer({ machines: [row] });
    expect(fresh()).toEqual([]);
  });

  test('report the live daemons', async () => {
    const ours = sessionId('bbbbbbbb-0000-4000-8000-000000000001');
    const sessions = [
      { sessionId: ours, component: 'shepherd' },
      { sessionId: sessionId('bbbbbbbb-0000-4000-8000-000000000002'), component: 'console' },
    ];
    await answer({ sessions });
    expect(mirror.sessions()).toEqual([ours]);
  });

  test('are repeated ever later after failures, and the mirror lives on', async () => {
    await advance(clock, 0);
    for (const pauseMs of [500, 1_000, 2_000]) {
      const before = script.begun();
      script.scans.shift()!.fail(new Unreachable('no database'));
      await advance(clock, pauseMs - 1);
      expect(script.begun()).toBe(before);
      await advance(clock, 1);
      expect(script.begun()).toBe(before + 1);
    }
    expect(log.count('the BMDB could not be read')).toBe(3);
    expect(mirror.isWhole()).toBe(false);
    await answer({ machines: [running()] });
    expect(mirror.isWhole()).toBe(true);
    expect(fresh()).toEqual([observed('Running', 'healthy')]);
    expect(mirror.lastScanAt()).not.toBeNull();
  });

  test('set the estimate of the database’s clock', async () => {
    await answer({ nowMs: clock.now() + 7_000 });
    expect(mirror.nowMs() - clock.now()).toBeGreaterThan(6_000);
    expect(mirror.nowMs() - clock.now()).toBeLessThanOrEqual(7_000);
  });
});

describe('listings in the mirror', () => {
  /** Passes a minute, at whose end everything is scanned and listed. */
  const later = async (rows: Partial<BmdbSnapshot> = {}) => {
    await advance(clock, 0);
    while (script.scans.length > 0) await answerOne(rows);
    await advance(clock, MINUTE - ((clock.now() - startMs) % MINUTE));
    await answer(rows);
  };

  test('keep the previous one after a failure', async () => {
    stand.listing = async () => ({ machines: [free()], complete: true });
    await later();
    expect(fresh()).toEqual([observed('Reserved', 'available')]);
    stand.listing = () => Promise.reject(new Unreachable('no provider'));
    await later();
    await later();
    expect(fresh()).toEqual([]);
    expect(log.count('the provider could not be listed')).toBeGreaterThan(0);
    expect(mirror.facts().has(SLOT)).toBe(true);
  });

  test('drop slots when complete, and nothing when partial', async () => {
    stand.listing = async () => ({ machines: [free()], complete: true });
    await later();
    fresh();
    stand.listing = async () => ({ machines: [], complete: false });
    await later();
    expect(fresh()).toEqual([]);
    stand.listing = async () => ({ machines: [], complete: true });
    await later();
    expect(fresh()).toEqual([observed('Released', 'gone'), { type: 'vanished', slot: SLOT }]);
    expect(vanished).toEqual([SLOT]);
    await later();
    expect(fresh()).toEqual([]);
  });

  test('do not bring back a machine whose rows are gone', async () => {
    stand.listing = async () => ({ machines: [], complete: false });
    await later({ machines: [machineRow()] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
    await later();
    expect(fresh()).toEqual([{ type: 'vanished', slot: SLOT }]);
  });

  test('wait for the next scan when they come during one, because rows must not be older', async () => {
    let give!: (listing: Listing) => void;
    stand.listing = () => new Promise((resolve) => (give = resolve));
    await answer();
    await advance(clock, MINUTE);
    expect(script.scans).toHaveLength(1);
    give({ machines: [device()], complete: true });
    await settled();
    await answerOne();
    expect(fresh()).toEqual([]);
    await answer({ machines: [machineRow()] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
  });
});

describe('newer readings', () => {
  test('keep a heartbeat against an earlier scan or single read', async () => {
    const row = running();
    await answer({ machines: [row] });
    script.wake();
    await settled();
    script.reading = { nowMs: clock.now(), version: clock.now(), row };
    await advance(clock, 30_000);
    heard$.next({ machineId: MACHINE, atMs: clock.now(), bootId: 'boot-1' });
    const heardAtMs = clock.now();
    const heartbeat = () => mirror.facts().get(SLOT)?.row?.heartbeat?.atMs;
    expect(heartbeat()).toBe(heardAtMs);
    await reread();
    expect(heartbeat()).toBe(heardAtMs);
    script.scans.shift()!.answer({ machines: [row] });
    await settled();
    expect(heartbeat()).toBe(heardAtMs);
  });

  test('forget a heartbeat of an agent that was started again', async () => {
    await answer({ machines: [running()] });
    heard$.next({ machineId: MACHINE, atMs: clock.now(), bootId: 'boot-1' });
    fresh();
    await advance(clock, 1_000);
    script.wake();
    const anew = machineRow({ agentStarted: agentStarted(clock.now(), 'boot-2') });
    await answer({ machines: [anew] });
    expect(fresh()).toEqual([observed('Running', 'awaitingHeartbeat')]);
  });

  test('refuse to reread a machine that is not placed', async () => {
    await answer();
    expect(await reread()).toBeNull();
  });
});

describe('heartbeats and time in the mirror', () => {
  test('show a heartbeat without news unless the state changes', async () => {
    const row = running();
    await answer({ machines: [row] });
    expect(fresh()).toHaveLength(1);
    const before = views.length;
    await advance(clock, 30_000);
    heard$.next({ machineId: MACHINE, atMs: clock.now(), bootId: 'boot-1' });
    expect(fresh()).toEqual([]);
    expect(views.slice(before)).toEqual([
      expect.objectContaining({ lastHeartbeatAtMs: clock.now(), state: 'Running' }),
    ]);
  });

  test('ignore a heartbeat of a stranger and an old one', async () => {
    await answer({ machines: [running()] });
    const before = views.length;
    heard$.next({ machineId: machineId('nobody'), atMs: clock.now(), bootId: null });
    heard$.next({ machineId: MACHINE, atMs: clock.now() - 10 * MINUTE, bootId: 'boot-0' });
    expect(views).toHaveLength(before);
  });

  test('make a machine late and then silent by time alone', async () => {
    const row = running();
    stand.listing = () => new Promise(() => undefined);
    await answer({ machines: [row] });
    expect(fresh()).toEqual([observed('Running', 'healthy')]);
    await quiet(2 * DEFAULT_LOSS.periodMs);
    expect(fresh()).toEqual([observed('Running', 'late')]);
    await quiet(DEFAULT_LOSS.heartbeatMs - 2 * DEFAULT_LOSS.periodMs);
    expect(fresh()).toEqual([observed('Running', 'silent')]);
    heard$.next({ machineId: MACHINE, atMs: clock.now(), bootId: 'boot-1' });
    expect(fresh()).toEqual([observed('Running', 'healthy')]);
  });

  /** Time passes without an answer of the database. */
  const quiet = async (ms: number) => {
    await advance(clock, ms);
    expect(script.scans.length).toBeLessThanOrEqual(1);
  };
});

describe('a restarted mirror', () => {
  test('repeats everything and reports what vanished', async () => {
    const other = machineRow({
      machineId: machineId('other'),
      provided: provided({ providerId: 'device-2', reservationId: 'rack-2' }),
    });
    await answer({ machines: [running(), other] });
    expect(fresh()).toHaveLength(2);
    fleet.stop();
    script.scans.length = 0;
    fleet = runService(mirror.service);
    await answer({ machines: [running()] });
    expect(fresh()).toEqual([
      observed('Running', 'healthy'),
      observed('Released', 'gone'),
      { type: 'vanished', slot: slot('stub', 'rack-2') },
    ]);
    expect(vanished).toEqual(['stub/rack-2']);
  });
});
