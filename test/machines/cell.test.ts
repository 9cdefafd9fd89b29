import { createActor, fromPromise, waitFor } from 'xstate';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { slot, type Slot } from '../../src/domain/ids.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { cell } from '../../src/machines/cell.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { shownIn } from '../../src/machines/shown.ts';
import { createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import { viewAt } from '../support/views.ts';

const GOOD = slot('stub', 'good');
const BAD = slot('stub', 'bad');
const at = (name: Slot, view: MachineView): MachineView => ({ ...view, slot: name });
const healthy = (name: Slot) => at(name, viewAt('Running', 'healthy'));

let seen: string[];
let aborted: string[];
let clock: ReturnType<typeof createSimulatedClock>;
let actor: ReturnType<typeof start>;

/** A cell in which the machine `bad` crashes on every leap. */
function start() {
  const machine = lifecycle.provide({
    actors: {
      awaitTurn: fromPromise(
        ({ input, signal }) =>
          new Promise(() => {
            signal.addEventListener('abort', () => aborted.push(input.slot), { once: true });
          }),
      ),
    },
    actions: {
      endTurn: () => undefined,
      countLeap: (_, { view }) => {
        if (view.slot === BAD) throw new Error('bug');
      },
    },
  });
  const logic = cell.provide({
    actors: { lifecycle: machine },
    actions: {
      reportCrash: (_, { actorId, error }) =>
        void seen.push(`crash of ${actorId}: ${String((error as Error).message)}`),
      reportEnd: (_, { actorId }) => void seen.push(`end of ${actorId}`),
    },
  });
  return createActor(logic, { clock }).start();
}
const tell = (view: MachineView) => actor.send({ type: 'machine.observed', view });
const living = () => Object.keys(actor.getSnapshot().children);
const shownOf = (name: Slot) => {
  const child = actor.getSnapshot().children[name];
  return child && shownIn(child.getSnapshot());
};

beforeEach(() => {
  [seen, aborted] = [[], []];
  clock = createSimulatedClock();
  actor = start();
});
afterEach(async () => {
  actor.stop();
  await settled();
  expect(clock.pending).toBe(0);
});

test('news make a machine, and later news are told to it', () => {
  tell(healthy(GOOD));
  const [child] = Object.values(actor.getSnapshot().children);
  tell(at(GOOD, viewAt('Running', 'late')));
  expect(living()).toEqual([GOOD]);
  expect(Object.values(actor.getSnapshot().children)[0]).toBe(child);
  expect(shownOf(GOOD)).toMatchObject({ slot: GOOD, state: 'Running', substate: 'late' });
});

test('the crash of one machine leaves its siblings alone and frees its place', async () => {
  tell(healthy(GOOD));
  tell(healthy(BAD));
  tell(at(BAD, viewAt('Reserved', 'available')));
  await settled();
  expect(seen).toEqual([`crash of ${BAD}: bug`]);
  expect(living()).toEqual([GOOD]);
  expect(actor.getSnapshot().status).toBe('active');
  tell(at(GOOD, viewAt('Running', 'late')));
  expect(shownOf(GOOD)).toMatchObject({ slot: GOOD, state: 'Running', substate: 'late' });
  tell(healthy(BAD));
  expect(living()).toEqual([GOOD, BAD]);
  expect(shownOf(BAD)).toMatchObject({ slot: BAD, state: 'Running', substate: 'healthy' });
});

test('a machine whose slot is gone ends and is forgotten', async () => {
  tell(healthy(GOOD));
  tell(at(GOOD, viewAt('Quarantined', 'missing')));
  tell(at(GOOD, viewAt('Released', 'gone')));
  await waitFor(actor, ({ children }) => Object.keys(children).length === 0);
  expect(seen).toEqual([`end of ${GOOD}`]);
});

test('a retired machine stops what it was doing, without a word', async () => {
  tell(at(GOOD, viewAt('Provisioned', 'waiting', { next: 'agentStart' })));
  actor.send({ type: 'machine.retire', slot: GOOD });
  await settled();
  expect({ seen, aborted, living: living() }).toEqual({ seen: [], aborted: [GOOD], living: [] });
  actor.send({ type: 'machine.retire', slot: GOOD });
  tell(healthy(GOOD));
  expect(living()).toEqual([GOOD]);
});
