import { Subject, type Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fleetReads, type FleetRead } from '../../../src/actors/mirror/reads.ts';
import type { BmdbSnapshot } from '../../../src/adapters/bmdb/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { cursor } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { clockScheduler } from '../../support/clock-scheduler.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { scriptedBmdb, type ScriptedBmdb } from '../../doubles/scripted-bmdb.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';

const SCAN_MS = 300_000;
const GAP_MS = 250;

let clock: VirtualClock;
let script: ScriptedBmdb;
let nudges$: Subject<void>;
let log: ReturnType<typeof recordingLog>;
let chance: number;
let begun: number;
let reads: FleetRead[];
let stopping: AbortController;
let subscription: Subscription;

const start = (pollMs: number | null = null) => {
  const options = {
    bmdb: script.bmdb,
    scanMs: SCAN_MS,
    scanGapMs: GAP_MS,
    pollMs,
    clock,
    log,
    random: { next: () => chance, uuid: () => 'unused' },
  };
  const within = { signal: stopping.signal, scheduler: clockScheduler(clock) };
  const hooks = {
    nudges$,
    onBegin: () => (begun += 1),
    onFailed: () => undefined,
    keep: (row: MachineRow) => row,
    take: async (read: FleetRead) => void reads.push(read),
  };
  subscription = fleetReads(options, hooks, within).subscribe();
};

beforeEach(() => {
  clock = createSimulatedClock();
  script = scriptedBmdb(() => clock.now());
  nudges$ = new Subject();
  log = recordingLog();
  [chance, begun, reads] = [0.5, 0, []];
  stopping = new AbortController();
});

afterEach(async () => {
  stopping.abort();
  subscription.unsubscribe();
  await settled();
  expect(clock.pending, 'timers left').toBe(0);
  expect(nudges$.observed).toBe(false);
});

/** Pending reads: `scan`, `changes <cursor>`. */
const open = (): string[] => [
  ...script.scans.map(() => 'scan'),
  ...script.changes.map((each) => `changes ${each.cursor}`),
];
/** Ends the pending read; the next read may begin after a gap. */
const answer = async (mark: string | null, gapMs = GAP_MS) => {
  expect(open()).toHaveLength(1);
  const rows: Partial<BmdbSnapshot> = { cursor: mark === null ? null : cursor(mark) };
  (script.scans.shift() ?? script.changes.shift())!.answer(rows);
  await advance(clock, gapMs);
};
/** Reads everything up to the cursor. */
const begin = async (mark: string | null, pollMs: number | null = null) => {
  start(pollMs);
  await advance(clock, 0);
  expect(open()).toEqual(['scan']);
  await answer(mark);
};
const woken = async (wake?: 'changed' | 'reconnected') => {
  script.wake(wake);
  await settled();
  return open();
};

describe('reads of the mirror', () => {
  test('read everything first, then what changed since', async () => {
    await begin('a');
    expect(open()).toEqual([]);
    expect(await woken()).toEqual(['changes a']);
    await answer('b');
    expect(await woken()).toEqual(['changes b']);
    await answer('c');
    expect(reads.map(({ kind }) => kind)).toEqual(['scan', 'changes', 'changes']);
    expect(begun).toBe(3);
  });

  test('read changes too when something else asks for a read', async () => {
    await begin('a');
    nudges$.next();
    await settled();
    expect(open()).toEqual(['changes a']);
  });

  test('read everything periodically', async () => {
    await begin('a');
    await advance(clock, SCAN_MS - GAP_MS - 1);
    expect(open()).toEqual([]);
    await advance(clock, 1);
    expect(open()).toEqual(['scan']);
  });

  test('read everything after the connection for notifications was lost', async () => {
    await begin('a');
    expect(await woken('reconnected')).toEqual(['scan']);
    await answer('b');
    expect(await woken()).toEqual(['changes b']);
  });

  test('read everything after that connection was lost during any read', async () => {
    await begin('a');
    expect(await woken()).toEqual(['changes a']);
    script.wake('reconnected');
    script.wake('changed');
    await answer('b');
    expect(open()).toEqual(['scan']);
    script.wake('reconnected');
    await answer('c');
    expect(open()).toEqual(['scan']);
    await answer('d');
    expect(open()).toEqual([]);
  });

  test('read everything at once when the database cannot tell the changes', async () => {
    await begin('a');
    expect(await woken()).toEqual(['changes a']);
    script.changes.shift()!.refuse();
    await settled();
    expect(open()).toEqual(['scan']);
    await answer('b');
    expect(reads.map(({ kind }) => kind)).toEqual(['scan', 'scan']);
    expect(log.count('the BMDB could not be read')).toBe(0);
  });

  test('read everything after a failed read of changes', async () => {
    await begin('a');
    expect(await woken()).toEqual(['changes a']);
    script.changes.shift()!.fail(new Unreachable('no database'));
    await advance(clock, 500);
    expect(open()).toEqual(['scan']);
    await answer('b');
    expect(await woken()).toEqual(['changes b']);
  });

  test('read everything while the database keeps no list of changes', async () => {
    await begin(null);
    expect(await woken()).toEqual(['scan']);
    await answer('a');
    expect(await woken()).toEqual(['changes a']);
    await answer(null);
    expect(await woken()).toEqual(['scan']);
  });

  test('read everything when the last read is over a minute old', async () => {
    await begin('a');
    await advance(clock, 60_000 - GAP_MS);
    expect(await woken()).toEqual(['changes a']);
    await answer('b');
    await advance(clock, 60_001);
    expect(await woken()).toEqual(['scan']);
  });

  test('count a cursor’s age from the begin of its read', async () => {
    await begin('a');
    expect(await woken()).toEqual(['changes a']);
    await advance(clock, 40_000);
    await answer('b', 40_000);
    expect(await woken()).toEqual(['scan']);
  });
});

describe('times of reads', () => {
  test('lead to exactly one more read after notifications during a read', async () => {
    await begin('a');
    await woken();
    for (let count = 0; count < 5; count += 1) script.wake();
    await answer('b');
    expect(open()).toEqual(['changes b']);
    await answer('c');
    await advance(clock, 10_000);
    expect(open()).toEqual([]);
  });

  test('keep a gap and never drop the last notification', async () => {
    await begin('a');
    await woken();
    await answer('b', 0);
    script.wake();
    await advance(clock, GAP_MS - 1);
    expect(open()).toEqual([]);
    await advance(clock, 1);
    expect(open()).toEqual(['changes b']);
  });

  test('pause after a long read for as long as it took', async () => {
    await begin('a');
    await woken();
    await advance(clock, 2_000);
    await answer('b', 0);
    script.wake();
    await advance(clock, 1_999);
    expect(open()).toEqual([]);
    await advance(clock, 1);
    expect(open()).toEqual(['changes b']);
  });

  test('repeat a failed read, ever later up to 3 s, without end', async () => {
    start();
    await advance(clock, 0);
    for (const pauseMs of [500, 1_000, 2_000, 3_000, 3_000, 3_000]) {
      script.scans.shift()!.fail(new Unreachable('no database'));
      await advance(clock, pauseMs - 1);
      expect(open()).toEqual([]);
      await advance(clock, 1);
      expect(open()).toEqual(['scan']);
    }
    expect(log.count('the BMDB could not be read')).toBe(6);
    await answer('a');
    expect(reads).toHaveLength(1);
    // The next failure counts as the first.
    expect(await woken()).toEqual(['changes a']);
    script.changes.shift()!.fail(new Unreachable('no database'));
    await advance(clock, 500);
    expect(open()).toEqual(['scan']);
  });

  test('end the pending read on stop', async () => {
    start();
    await advance(clock, 0);
    expect(script.scans).toHaveLength(1);
    stopping.abort(new Error('enough'));
    subscription.unsubscribe();
    await advance(clock, 60_000);
    expect(script.begun()).toBe(1);
  });
});

describe('reads without notifications', () => {
  test.each([
    [0, 4_500],
    [0.5, 5_000],
    [0.75, 5_250],
  ])('ask for changes periodically, ± 10 %% (chance %d: %d ms)', async (given, periodMs) => {
    const slackMs = 2;
    chance = given;
    await begin('a', 5_000);
    await advance(clock, periodMs - slackMs - GAP_MS);
    expect(open()).toEqual([]);
    await advance(clock, 2 * slackMs);
    expect(open()).toEqual(['changes a']);
    await answer('b', periodMs - 3 * slackMs);
    expect(open()).toEqual([]);
    await advance(clock, 4 * slackMs);
    expect(open()).toEqual(['changes b']);
  });

  test('are not made where polling is off', async () => {
    await begin('a', null);
    await advance(clock, SCAN_MS - GAP_MS - 1);
    expect(begun).toBe(1);
  });

  test('make up for a period that ended during a read', async () => {
    await begin('a', 1_000);
    await advance(clock, 1_000 - GAP_MS);
    expect(open()).toEqual(['changes a']);
    await advance(clock, 700);
    await answer('b', 700);
    expect(open()).toEqual(['changes b']);
  });
});
