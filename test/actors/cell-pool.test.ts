import { createActor, fromPromise, setup, type ActorRefFrom } from 'xstate';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cellPool, createMachineFinder, type CellPoolOptions } from '../../src/actors/cell-pool.ts';
import { liveIn, type Shown } from '../../src/machines/shown.ts';
import { machineId, slot, type Slot } from '../../src/domain/ids.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { CELL_CAPACITY, cell } from '../../src/machines/cell.ts';
import type { FleetEvent, SlotNews } from '../../src/machines/fleet.ts';
import { lifecycle, type TurnInput } from '../../src/machines/lifecycle.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { viewAt } from '../support/views.ts';
import { advance, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const rack = (at: number) => slot('stub', `rack-${at}`);
const seen = (name: Slot, view: MachineView): SlotNews => ({
  type: 'observed',
  view: { ...view, slot: name },
});
const healthy = (name: Slot) => seen(name, viewAt('Running', 'healthy'));
/** A leap: crashes the machine while it is marked as crashing. */
const leap = (name: Slot) => seen(name, viewAt('Reserved', 'available'));
const due = (name: Slot) => seen(name, viewAt('Provisioned', 'waiting', { next: 'agentStart' }));
const gone = (name: Slot): SlotNews => ({ type: 'vanished', slot: name });

let clock: VirtualClock;
let log: RecordingLog;
let crashing: Set<Slot>;
let dropped: Slot[];
let crashes: string[];
let shown: Shown[];
/** Events of the machines' and cells' actors. */
let inspected: number;
/** Machines' waits for a permit that were begun and not aborted. */
let waiting: Slot[];
let cells: Map<string, ActorRefFrom<typeof cell>>;
let failures: unknown[];
let broken: unknown[];
let options: Partial<CellPoolOptions>;
let cellsBreak: boolean;
let pool: { tell(...news: SlotNews[]): void; stop(): void };

function start() {
  const machine = lifecycle.provide({
    actors: {
      awaitTurn: fromPromise(({ input, signal }) => {
        waiting.push(input.slot);
        return new Promise(() => {
          signal.addEventListener('abort', () => {
            waiting.splice(waiting.indexOf(input.slot), 1);
          });
        });
      }),
    },
    actions: {
      endTurn: () => undefined,
      countLeap: (_, { view }) => {
        if (crashing.has(view.slot)) throw new Error('bug');
      },
    },
  });
  const logic = cellPool({
    createCell: (hooks) =>
      cell.provide({
        actors: { lifecycle: machine },
        actions: {
          reportCrash: (_, { actorId, error }) => {
            if (cellsBreak) throw new Error('the cell itself broke');
            hooks.onCrash(actorId as Slot, error);
          },
          reportEnd: (_, { actorId }) => hooks.onEnd(actorId as Slot),
        },
      }),
    clock,
    log,
    dropWork: (name) => dropped.push(name),
    releaseWork: async () => undefined,
    onCrash: (name, error) => crashes.push(`${name}: ${(error as Error).message}`),
    onShown: (each) => shown.push(each),
    inspect: (id) => (event) => {
      inspected += 1;
      const ref = event.actorRef as ActorRefFrom<typeof cell>;
      if (ref.id === id) cells.set(id, ref);
    },
    ...options,
  });
  const host = setup({
    types: { events: {} as FleetEvent },
    actors: { pool: logic },
  }).createMachine({
    initial: 'up',
    on: { 'service.crashed': { actions: ({ event }) => void broken.push(event.error) } },
    states: { up: { invoke: { id: 'pool', src: 'pool', onError: 'down' } }, down: {} },
  });
  const actor = createActor(host);
  actor.subscribe({ error: (error) => failures.push(error) });
  actor.start();
  return {
    tell: (...news: SlotNews[]) =>
      actor.getSnapshot().children['pool']!.send({ type: 'slots.changed', news }),
    stop: () => void actor.stop(),
  };
}

beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  [crashing, cells] = [new Set(), new Map()];
  [dropped, crashes, waiting, failures, broken, shown] = [[], [], [], [], [], []];
  options = {};
  [cellsBreak, inspected] = [false, 0];
  pool = start();
});
afterEach(async () => {
  pool.stop();
  await settled();
  expect(failures).toEqual([]);
  expect(waiting).toEqual([]);
  expect(clock.pending).toBe(0);
  for (const ref of cells.values()) expect(ref.getSnapshot().status).not.toBe('active');
});

const living = () =>
  [...cells.values()]
    .filter((ref) => ref.getSnapshot().status === 'active')
    .map((ref) => Object.keys(ref.getSnapshot().children));
const all = () => living().flat().toSorted();

describe('placing machines in cells', () => {
  test('fills a cell before it opens another', () => {
    pool.tell(...Array.from({ length: CELL_CAPACITY + 1 }, (_, at) => healthy(rack(at))));
    expect(living().map((names) => names.length)).toEqual([CELL_CAPACITY, 1]);
  });

  test('gives the place of a machine that left to the next one', () => {
    options = { cellCapacity: 2 };
    pool.stop();
    cells.clear();
    pool = start();
    pool.tell(healthy(rack(1)), healthy(rack(2)), healthy(rack(3)));
    pool.tell(gone(rack(1)), healthy(rack(4)), healthy(rack(5)));
    expect(living().map((names) => names.length)).toEqual([2, 2]);
    expect(all()).toEqual([rack(2), rack(3), rack(4), rack(5)]);
  });

  test('sends news to the cell of the machine', () => {
    pool.tell(healthy(rack(1)), seen(rack(1), viewAt('Running', 'late')));
    expect(all()).toEqual([rack(1)]);
    const place = { slot: rack(1), state: 'Running', working: false };
    expect(shown).toEqual([
      { ...place, substate: 'healthy' },
      { ...place, substate: 'late' },
    ]);
  });

  test('shows news that do not move the chart without an event', () => {
    pool.tell(healthy(rack(1)));
    inspected = 0;
    pool.tell(seen(rack(1), viewAt('Running', 'late')));
    expect(inspected).toBe(0);
    expect(shown.at(-1)).toMatchObject({ state: 'Running', substate: 'late' });
  });

  test.each([
    ['a state', viewAt('Quarantined', 'conflict')],
    ['work', viewAt('Running', 'healthy', { next: 'recovery' })],
    ['a request', viewAt('Running', 'healthy', { request: 'a hold' })],
    ['another machine', { ...viewAt('Running', 'healthy'), machineId: machineId('another') }],
  ])('sends news of %s to the actor', (_, view) => {
    pool.tell(healthy(rack(1)));
    inspected = 0;
    pool.tell(seen(rack(1), view));
    expect(inspected).toBeGreaterThan(0);
  });

  test('retires a vanished machine and drops its work', async () => {
    pool.tell(due(rack(1)), gone(rack(1)));
    await settled();
    expect({ all: all(), dropped, waiting }).toEqual({ all: [], dropped: [rack(1)], waiting: [] });
  });
});

describe('many news at once', () => {
  const many = Array.from({ length: 2_500 }, (_, at) => healthy(rack(at)));

  test('are handled in order and in slices, so that other tasks run in between', async () => {
    pool.tell(...many);
    expect(all()).toHaveLength(1_000);
    let timers = 0;
    clock.setTimeout(() => (timers = all().length), 0);
    pool.tell(gone(rack(2_499)), seen(rack(0), viewAt('Running', 'late')));
    await advance(clock, 10);
    expect(timers).toBeGreaterThan(0);
    expect(timers).toBeLessThan(2_499);
    expect(all()).toHaveLength(2_499);
    expect(all()).not.toContain(rack(2_499));
  });

  test('are forgotten at a stop, and break the pool if they are invalid', async () => {
    pool.tell(...many, { type: 'observed', view: null as never });
    await advance(clock, 10);
    expect(broken).toHaveLength(1);
    pool.tell(...many);
    pool.stop();
    await advance(clock, 10);
    expect(all()).toEqual([]);
  });
});

describe('a crashed machine', () => {
  const crash = async (name: Slot) => {
    crashing.add(name);
    pool.tell(healthy(name), leap(name));
    await settled();
  };

  test('loses its work and comes back with its latest view', async () => {
    pool.tell(healthy(rack(2)));
    await crash(rack(1));
    expect({ crashes, dropped, all: all() }).toEqual({
      crashes: [`${rack(1)}: bug`],
      dropped: [rack(1)],
      all: [rack(2)],
    });
    crashing.clear();
    pool.tell(seen(rack(1), viewAt('Quarantined', 'conflict')));
    expect(all()).toEqual([rack(2)]);
    await advance(clock, 1_000);
    expect(all()).toEqual([rack(1), rack(2)]);
  });

  test('comes back later after each crash', async () => {
    const pauses = [];
    for (let at = 0; at < 10; at += 1) {
      await crash(rack(1));
      const beganMs = clock.monotonic();
      while (all().length === 0) await advance(clock, 500);
      pauses.push(clock.monotonic() - beganMs);
    }
    expect(pauses).toEqual(
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 300].map((seconds) => seconds * 1_000),
    );
  });

  test('stays away when its slot is gone meanwhile', async () => {
    await crash(rack(1));
    pool.tell(gone(rack(1)));
    await advance(clock, MINUTE);
    expect(all()).toEqual([]);
  });

  test('waits until its previous work can be released', async () => {
    let tries = 0;
    options = {
      releaseWork: async () => {
        tries += 1;
        if (tries === 1) throw new Error('no database');
      },
    };
    pool.stop();
    pool = start();
    await crash(rack(1));
    await advance(clock, 1_000);
    expect({ all: all(), told: log.lines.length }).toEqual({ all: [], told: 1 });
    await advance(clock, 30_000);
    expect(all()).toEqual([rack(1)]);
  });
});

describe('a crashed cell', () => {
  test('is rebuilt with all its machines, and the old actors stop', async () => {
    pool.tell(healthy(rack(1)), due(rack(2)), healthy(rack(3)));
    await settled();
    expect(waiting).toEqual([rack(2)]);
    cellsBreak = true;
    crashing.add(rack(1));
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    pool.tell(leap(rack(1)));
    await settled();
    warnings.mockRestore();
    expect(log.count('a cell crashed and is being rebuilt')).toBe(1);
    expect(crashes.toSorted()).toEqual([1, 2, 3].map((at) => `${rack(at)}: the cell itself broke`));
    expect(dropped.toSorted()).toEqual([rack(1), rack(2), rack(3)]);
    expect(waiting, 'the machines of the dead cell still wait for their turn').toEqual([]);
    cellsBreak = false;
    crashing.clear();
    await advance(clock, 1_000);
    expect(all()).toEqual([rack(1), rack(2), rack(3)]);
    expect(waiting).toEqual([rack(2)]);
  });
});

test('stops its cells when the pool breaks', async () => {
  pool.tell(due(rack(1)));
  await settled();
  pool.tell({ type: 'observed', view: null as never });
  await settled();
  expect({ all: all(), waiting, dropped }).toEqual({ all: [], waiting: [], dropped: [rack(1)] });
});

test('stops all machines and drops their work', async () => {
  pool.tell(due(rack(1)), healthy(rack(2)));
  pool.stop();
  await settled();
  expect({ all: all(), dropped: dropped.toSorted() }).toEqual({
    all: [],
    dropped: [rack(1), rack(2)],
  });
});

test('tells an idle actor once that it disagrees with its rows, and finds it on a check', async () => {
  pool.stop();
  const apart: string[] = [];
  const finder = createMachineFinder();
  const deaf = lifecycle.provide({ guards: { shows: () => false, unchanged: () => true } });
  options = {
    finder,
    onMismatch: ({ slot, state }) => apart.push(`${slot} ${state}`),
    createCell: () => cell.provide({ actors: { lifecycle: deaf } }),
  };
  pool = start();
  pool.tell(healthy(rack(1)), healthy(rack(2)));
  expect(apart).toEqual([]);
  const gone = seen(rack(1), viewAt('HandedOver', 'installed'));
  pool.tell(gone, gone);
  expect(apart).toEqual([`${rack(1)} HandedOver`]);
  expect(liveIn(finder.find(rack(1))!.getSnapshot())).toEqual({
    life: 'Running.resting',
    requests: 'idle',
    task: null,
  });
  expect(finder.find(rack(9))).toBeUndefined();
});

test('counts no actor as disagreeing that knows what is still on its way', async () => {
  pool.stop();
  const apart: string[] = [];
  let answer: (view: MachineView) => void = () => undefined;
  const refused = agentStart.provide({
    actors: {
      claimStart: fromPromise(() => Promise.reject(new Error('another daemon has it'))),
      reread: fromPromise(() => new Promise<MachineView | null>((resolve) => (answer = resolve))),
    },
  });
  const quick = lifecycle.provide({
    actors: { awaitTurn: fromPromise<void, TurnInput>(async () => undefined), agentStart: refused },
    actions: { endTurn: () => undefined },
  });
  options = {
    onMismatch: ({ slot, state }) => apart.push(`${slot} ${state}`),
    createCell: () => cell.provide({ actors: { lifecycle: quick } }),
  };
  pool = start();
  pool.tell(due(rack(1)));
  await settled();
  const others = Array.from({ length: 1_001 }, (_, at) => healthy(rack(at + 2)));
  const view = { ...viewAt('Running', 'healthy'), slot: rack(1) };
  pool.tell(...others, { type: 'observed', view });
  answer(view);
  await settled();
  expect(shown.findLast((each) => each.slot === rack(1))?.state).toBe('Running');
  const last = () => shown.findLast((each) => each.slot === rack(1_002))?.state;
  expect(last(), 'not all is told yet').toBeUndefined();
  await advance(clock, 1_000);
  expect(last(), 'all is told').toBe('Running');
  expect(apart).toEqual([]);
});
