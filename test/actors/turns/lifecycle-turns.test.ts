import { createActor, fromPromise } from 'xstate';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NothingToDo } from '../../../src/domain/errors.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { lifecycle, type TurnInput } from '../../../src/machines/lifecycle.ts';
import { takeover } from '../../../src/machines/takeover.ts';
import type { Job } from '../../../src/machines/task.ts';
import { viewAt } from '../../support/views.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const waiting = (next: MachineView['next']) => viewAt('Provisioned', 'waiting', { next });

/** Turns that were asked for, and not withdrawn. */
let turns: { readonly input: TurnInput; grant(): void; fail(error: Error): void }[];
/** What the next takeover finds, and what the rows say after it. */
let refuses: boolean;
let after: MachineView | null;
let asked: number;
let actor: ReturnType<typeof start>;

function start(view: MachineView) {
  const done = <Output, Input>() => fromPromise<Output, Input>(async () => undefined as Output);
  const claimStart = fromPromise<void, Job>(async () => {
    if (refuses) throw new NothingToDo('not eligible');
  });
  const reread = fromPromise<MachineView | null, Job>(async () => after);
  const logic = lifecycle.provide({
    actors: {
      awaitTurn: fromPromise<void, TurnInput>(
        ({ input, signal }) =>
          new Promise((resolve, reject) => {
            const turn = { input, grant: resolve, fail: reject };
            turns.push(turn);
            asked += 1;
            signal.addEventListener('abort', () => turns.splice(turns.indexOf(turn), 1));
          }),
      ),
      takeover: takeover.provide({
        actors: {
          ...{ claimStart, reread, connect: done<void, Job>() },
          verifyHost: done(),
          upload: done(),
          execute: done(),
          recordStart: done(),
        },
      }),
    },
    actions: { endTurn: () => undefined, countLeap: () => undefined },
  });
  return createActor(logic, { input: { view } }).start();
}
const tell = async (view: MachineView) => {
  actor.send({ type: 'machine.observed', view });
  await settled();
};
/** The one turn that is awaited now. */
const awaited = () => {
  expect(turns).toHaveLength(1);
  return turns[0]!;
};
const granted = async () => {
  const { grant } = awaited();
  turns.length = 0;
  grant();
  for (let at = 0; at < 10; at += 1) await settled();
};

beforeEach(async () => {
  [turns, asked, refuses, after] = [[], 0, true, waiting('agentStart')];
  actor = start(waiting('agentStart'));
  await settled();
});
afterEach(() => void actor.stop());

test('a turn is awaited for what the machine is due for, and anew when that changes', async () => {
  expect(awaited().input.next).toBe('agentStart');
  await tell(waiting(null));
  expect(turns).toEqual([]);
  await tell(waiting('recovery'));
  expect(awaited().input.next).toBe('recovery');
});

test('news that change nothing leave the wait alone', async () => {
  await tell(waiting('agentStart'));
  await tell({ ...waiting('agentStart'), lastHeartbeatAtMs: 1 });
  expect(asked).toBe(1);
});

test('each task that was refused makes the next wait longer, up to ten', async () => {
  const seen = [];
  for (let at = 0; at < 12; at += 1) {
    seen.push(awaited().input.setbacks);
    await granted();
  }
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]);
});

test('a turn that could not be awaited is a setback too', async () => {
  const { fail } = awaited();
  turns.length = 0;
  fail(new Error('no place'));
  await settled();
  expect(awaited().input.setbacks).toBe(1);
});

test('a success forgets the setbacks', async () => {
  await granted();
  await granted();
  expect(awaited().input.setbacks).toBe(2);
  refuses = false;
  after = viewAt('Running', 'silent', { next: 'recovery' });
  await granted();
  expect(awaited().input).toMatchObject({ next: 'recovery', setbacks: 0 });
});
