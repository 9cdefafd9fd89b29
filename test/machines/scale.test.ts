import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createActor, fromPromise, type ActorRefFrom } from 'xstate';
import { expect, test } from 'vitest';
import { slot } from '../../src/domain/ids.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { CELL_CAPACITY, cell } from '../../src/machines/cell.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import { viewAt } from '../support/views.ts';

const MACHINES = 10_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heapBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};
const seen = (at: number, view: MachineView): MachineView => ({
  ...view,
  slot: slot('stub', `rack-${at}`),
});

const logic = cell.provide({
  actors: {
    lifecycle: lifecycle.provide({
      actors: { awaitTurn: fromPromise(() => new Promise(() => undefined)) },
      actions: { endTurn: () => undefined, countLeap: () => undefined },
    }),
  },
  actions: { reportCrash: () => undefined, reportEnd: () => undefined },
});

/** Prints its figures, and judges only those that do not depend on the computer. */
test('runs ten thousand machines in cells', async () => {
  const clock = createSimulatedClock();
  const cells: ActorRefFrom<typeof cell>[] = [];
  const tellAll = (view: MachineView) => {
    for (let at = 0; at < MACHINES; at += 1) {
      const home = Math.floor(at / CELL_CAPACITY);
      cells[home] ??= createActor(logic, { clock }).start();
      cells[home].send({ type: 'machine.observed', view: seen(at, view) });
    }
  };
  const timed = (act: () => void) => {
    const began = performance.now();
    act();
    return performance.now() - began;
  };
  const emptyBytes = heapBytes();
  const bootMs = timed(() => tellAll(viewAt('Provisioned', 'waiting', { next: 'agentStart' })));
  const perMachine = (heapBytes() - emptyBytes) / MACHINES;
  const newsMs = timed(() => tellAll(viewAt('Running', 'healthy')));
  const states = cells.flatMap((each) =>
    Object.values(each.getSnapshot().children).map((child) => child!.getSnapshot().value),
  );
  expect(states).toHaveLength(MACHINES);
  expect(new Set(states.map((value) => JSON.stringify(value)))).toEqual(
    new Set([JSON.stringify({ alive: { life: { Running: 'resting' }, requests: 'idle' } })]),
  );
  expect(perMachine).toBeLessThan(16_000);
  for (const each of cells) each.stop();
  await settled();
  expect(clock.pending).toBe(0);
  process.stdout.write(
    `scale: ${MACHINES} machines, boot ${Math.round(bootMs)} ms, news ${Math.round(newsMs)} ms, ` +
      `${Math.round(perMachine)} bytes of heap per machine\n`,
  );
});
