import { describe, expect, test } from 'vitest';
import type { TaskResult } from '../../src/machines/task.ts';
import { explore, type Path, type Subject } from '../support/replay.ts';
import { deprovisionSubject, recoverySubject, takeoverSubject } from './subjects.ts';

const CLAIMS: ReadonlySet<string> = new Set(['claimStart', 'claimRecovery', 'claimDeprovision']);
const CLOSING: ReadonlySet<string> = new Set(['giveUp', 'reread']);

/** Each slot fails once at its step; the way the task then ends, told by the slots that ran. */
describe.each([takeoverSubject, recoverySubject, deprovisionSubject])(
  '$chart.id',
  (subject: Subject) => {
    const explored = explore(subject);
    const slots = Object.keys(subject.slots);
    const steps = slots.filter((name) => !CLOSING.has(name));

    test('runs each step once and in order, gives nothing up, and rereads', async () => {
      const run = await explored.reach({ initial: explored.paths[0]!.initial, steps: [] });
      for (const slot of [...steps, 'reread']) await run.play(doneOf(slot));
      expect(run.stage.started).toEqual([...steps, 'reread']);
      const { output } = run.snapshot() as unknown as { output: TaskResult };
      expect(output).toEqual({ outcome: 'done', failure: null, view: null });
      await run.stop();
    });

    test.each(steps)(
      '%s fails: given up once if the claim succeeded, then reread',
      async (slot) => {
        const path = pathsTo(slot)[0]!;
        const run = await explored.reach(path);
        await run.play(failureOf(slot));
        const claimed = !CLAIMS.has(slot);
        if (claimed) await run.play(doneOf('giveUp'));
        await run.play(doneOf('reread'));
        const before = steps.slice(0, steps.indexOf(slot) + 1);
        expect(run.stage.started).toEqual([...before, ...(claimed ? ['giveUp'] : []), 'reread']);
        const { status, output } = run.snapshot() as unknown as {
          status: string;
          output: TaskResult;
        };
        expect({ status, outcome: output.outcome }).toEqual({
          status: 'done',
          outcome: claimed ? 'failed' : 'refused',
        });
        expect(output.failure?.code).toBeTypeOf('string');
        await run.stop();
      },
    );

    test('neither giving up nor rereading is repeated when it fails', async () => {
      const run = await explored.reach(pathsTo(steps[1]!)[0]!);
      await run.play(failureOf(steps[1]!));
      await run.play(failureOf('giveUp'));
      await run.play(failureOf('reread'));
      const { output } = run.snapshot() as unknown as { output: TaskResult };
      expect(output).toMatchObject({ outcome: 'failed', view: null });
      expect(run.stage.started.filter((name) => CLOSING.has(name))).toEqual(['giveUp', 'reread']);
      await run.stop();
    });

    /** Paths at whose end the slot runs. */
    function pathsTo(slot: string): Path[] {
      const start: Path = { initial: explored.paths[0]!.initial, steps: [] };
      return [start, ...explored.paths].filter((path) => {
        const { children } = path.steps.at(-1)?.snapshot ?? path.initial;
        return slot in children;
      });
    }
    const doneOf = (id: string) => ({ type: `xstate.done.actor.${id}`, actorId: id, output: null });
    const failureOf = (id: string) => ({
      type: `xstate.error.actor.${id}`,
      actorId: id,
      error: subject.slots[id]!.errors![0],
    });
  },
);
