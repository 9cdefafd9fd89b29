import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TaskDeps } from '../../../src/actors/tasks/task.ts';
import { rowOf } from '../../doubles/mem-bmdb/rows.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { Cancelled, Unreachable } from '../../../src/domain/errors.ts';
import { slot } from '../../../src/domain/ids.ts';
import { MACHINE, SLOT } from '../../support/facts.ts';
import { runService, runStep } from '../../support/run-service.ts';
import { agentAnswer, startServices } from '../../support/agent-start.ts';
import { createTaskStand, JOB, type TaskStand } from '../../support/task-stand.ts';
import { settled } from '../../doubles/simulated-clock.ts';

/** Results that arrive after the permit has ended. */

let stand: TaskStand;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  stand.given();
  await stand.grant('agentStart');
});

/** An answer that waits for the test. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const workHeld = () =>
  rowOf(stand.bmdb.tables, stand.bmdb.tables.machines.get(MACHINE)!).work.map(
    ({ process }) => process,
  );

/** Counts the closes of each connection; awaits `before` once it is open. */
function countingShell(before: Promise<void> = Promise.resolve()) {
  const { shell } = stand.deps();
  const closed: number[] = [];
  const sessions: ShellSession[] = [];
  const change: Partial<TaskDeps> = {
    shell: {
      async connect(target, signal) {
        const session = await shell.connect(target, signal);
        const at = sessions.length;
        closed.push(0);
        const watched: ShellSession = {
          ...session,
          close: () => {
            closed[at]! += 1;
            session.close();
          },
        };
        sessions.push(watched);
        await before;
        return watched;
      },
    },
  };
  return { closed, sessions, change };
}

describe('a turn that ends', () => {
  test('B2: closes the connection at once that it was opening', async () => {
    const { opened, open } = gate();
    const { closed, change } = countingShell(opened);
    const services = startServices(stand, 'tofu', change);
    await runStep(services, 'claimStart').result;
    const connecting = runStep(services, 'connect').result;
    await settled();
    expect(closed, 'it stands').toEqual([0]);
    stand.taskPool.end(SLOT);
    open();
    await expect(connecting).rejects.toBeInstanceOf(Cancelled);
    expect(closed).toEqual([1]);
    expect(workHeld()).toEqual([]);
  });

  test('B2: releases the work at once that it was claiming', async () => {
    const { opened, open } = gate();
    const session = stand.keeper.require();
    const { claim } = session;
    Object.assign(session, {
      claim: async (...args: Parameters<typeof claim>) => {
        const work = await claim(...args);
        await opened;
        return work;
      },
    });
    const claiming = runStep(startServices(stand), 'claimStart').result;
    await settled();
    expect(workHeld()).toEqual(['ShepherdAgentStart']);
    stand.taskPool.end(SLOT);
    open();
    await expect(claiming).rejects.toBeInstanceOf(Cancelled);
    expect(workHeld()).toEqual([]);
  });
});

describe('frees its place for another machine although the task still runs', () => {
  const another = slot('stub', 'another');
  const waitForPlace = () => {
    const wait = { isOver: false };
    void stand.taskPool
      .grant(another, 'agentStart', new AbortController().signal)
      .then(() => (wait.isOver = true));
    return wait;
  };
  afterEach(() => {
    expect(stand.taskPool.holds(SLOT)).toBe(true);
    stand.taskPool.end(another);
  });

  test('ends while the start of the agent is recorded', async () => {
    stand.host.run = (_, stdin) => agentAnswer(stdin);
    const services = startServices(stand);
    const wait = waitForPlace();
    const steps = ['claimStart', 'connect', 'verifyHost', 'upload', 'execute'] as const;
    for (const step of steps) await runStep(services, step).result;
    const work = stand.taskPool.turn(SLOT).held.work!;
    const { opened, open } = gate();
    const { finish } = work;
    const finishLater = (...args: Parameters<typeof finish>) => opened.then(() => finish(...args));
    Object.assign(work, { finish: finishLater });
    expect(wait.isOver).toBe(false);
    const recording = runStep(services, 'recordStart').result;
    await settled();
    expect(wait.isOver).toBe(true);
    open();
    await recording;
  });

  test('ends after the abandonment was recorded', async () => {
    const services = startServices(stand);
    const wait = waitForPlace();
    await runStep(services, 'claimStart').result;
    await runStep(services, 'connect').result;
    expect(wait.isOver).toBe(false);
    const { code, message } = new Unreachable('the connection was closed');
    await runService(services.giveUp, { ...JOB, failure: { code, message } }).result;
    await settled();
    expect(wait.isOver).toBe(true);
  });
});

test('B2: hangs up before it records why it was abandoned', async () => {
  const { closed, change } = countingShell();
  const services = startServices(stand, 'tofu', change);
  await runStep(services, 'claimStart').result;
  await runStep(services, 'connect').result;
  const { work } = stand.taskPool.turn(SLOT).held;
  const { fail } = work!;
  const whenWritten: number[][] = [];
  Object.assign(work!, {
    fail: (...args: Parameters<typeof fail>) => {
      whenWritten.push([...closed]);
      return fail(...args);
    },
  });
  const { code, message } = new Unreachable('the connection was closed');
  const failure = { code, message, retryable: true };
  await runService(services.giveUp, { ...JOB, failure }).result;
  expect(whenWritten).toEqual([[1]]);
  expect(workHeld()).toEqual([]);
});
