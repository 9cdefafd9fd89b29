import { describe, expect, test } from 'vitest';
import type { TaskResult } from '../../src/machines/task.ts';
import { explore, type Explored, type Path, type Run, type Subject } from '../support/replay.ts';
import { deprovisionSubject, recoverySubject, takeoverSubject } from './subjects.ts';

/** A slot, and what it answers where that decides the way. */
type Step = readonly [slot: string, output?: unknown];
interface Way {
  readonly name: string;
  readonly steps: readonly Step[];
  /** Steps after whose failure something is put right before the task is given up. */
  readonly mended?: { readonly by: string; readonly steps: readonly string[] };
}

const straight = (subject: Subject): Way[] => {
  const closing = new Set(['giveUp', 'reread']);
  const slots = Object.keys(subject.slots).filter((name) => !closing.has(name));
  return [{ name: 'straight', steps: slots.map((slot) => [slot]) }];
};
const on = (rung: string) => ({ rung });
const power = { by: 'restorePower', steps: ['switchOff', 'awaitOff', 'switchOn'] };
const offAndOn: readonly Step[] = [['switchOff'], ['awaitOff'], ['switchOn'], ['awaitBoot']];

const recoveryWays: readonly Way[] = [
  {
    name: 'the agent is restarted',
    steps: [
      ['claimRecovery', on('restartingAgent')],
      ['reachAgent', on('restartingAgent')],
      ...[['stopAgent'], ['recordRecovery']].map(([slot]): Step => [slot!]),
    ],
  },
  {
    name: 'SSH does not answer: a reboot',
    steps: [
      ['claimRecovery', on('restartingAgent')],
      ['reachAgent', on('rebooting')],
      ...['askReboot', 'awaitBoot', 'recordRecovery'].map((slot): Step => [slot]),
    ],
  },
  {
    name: 'SSH does not answer: a power cycle',
    steps: [
      ['claimRecovery', on('restartingAgent')],
      ['reachAgent', on('powerCycling')],
      ...[...offAndOn, ['recordRecovery'] as const],
    ],
    mended: power,
  },
  {
    name: 'a reboot',
    steps: [
      ['claimRecovery', on('rebooting')],
      ...['askReboot', 'awaitBoot', 'recordRecovery'].map((slot): Step => [slot]),
    ],
  },
  {
    name: 'a power cycle',
    steps: [['claimRecovery', on('powerCycling')], ...offAndOn, ['recordRecovery']],
    mended: power,
  },
  {
    name: 'a reinstallation',
    steps: [
      ['claimRecovery', on('reinstalling')],
      ...['askReinstall', 'awaitSystem', 'recordRecovery'].map((slot): Step => [slot]),
    ],
  },
];

const cases = [
  ...straight(takeoverSubject).map((way) => ({ subject: takeoverSubject, way })),
  ...recoveryWays.map((way) => ({ subject: recoverySubject, way })),
  ...straight(deprovisionSubject).map((way) => ({ subject: deprovisionSubject, way })),
].map(({ subject, way }) => [`${subject.chart.id}, ${way.name}`, subject, way] as const);

const explored = new Map<Subject, Explored>();
const exploredOf = (subject: Subject): Explored => {
  const known = explored.get(subject) ?? explore(subject);
  explored.set(subject, known);
  return known;
};

/** Each slot fails once at its step; the way the task then ends, told by the slots that ran. */
describe.each(cases)('%s', (_, subject, { steps, mended }) => {
  const slots = steps.map(([slot]) => slot);
  const start = (): Promise<Run> => {
    const { initial } = exploredOf(subject).paths[0]!;
    const nowhere: Path = { initial, steps: [] };
    return exploredOf(subject).reach(nowhere);
  };
  const advanceTo = async (run: Run, until: number) => {
    for (const [slot, output] of steps.slice(0, until)) await run.play(doneOf(slot, output));
  };

  test('runs each step once and in order, gives nothing up, and rereads', async () => {
    const run = await start();
    await advanceTo(run, steps.length);
    await run.play(doneOf('reread'));
    expect(run.stage.started).toEqual([...slots, 'reread']);
    expect(resultOf(run)).toEqual({ outcome: 'done', failure: null, view: null });
    await run.stop();
  });

  test.each(slots)('%s fails: given up once if the claim succeeded, then reread', async (slot) => {
    const run = await start();
    const at = slots.indexOf(slot);
    await advanceTo(run, at);
    await run.play(failureOf(slot));
    const claimed = at > 0;
    const mends = mended?.steps.includes(slot) ? [mended.by] : [];
    for (const each of [...mends, ...(claimed ? ['giveUp'] : []), 'reread']) {
      await run.play(doneOf(each));
    }
    const closing = [...mends, ...(claimed ? ['giveUp'] : []), 'reread'];
    expect(run.stage.started).toEqual([...slots.slice(0, at + 1), ...closing]);
    const { outcome, failure } = resultOf(run);
    expect(outcome).toBe(claimed ? 'failed' : 'refused');
    expect(failure?.code).toBe((subject.slots[slot]!.errors![0] as { code: string }).code);
    await run.stop();
  });

  test('neither mending, giving up nor rereading is repeated when it fails', async () => {
    const run = await start();
    await advanceTo(run, 1);
    const [, second] = slots;
    await run.play(failureOf(second!));
    const mends = mended?.steps.includes(second!) ? [mended.by] : [];
    for (const each of [...mends, 'giveUp', 'reread']) await run.play(failureOf(each));
    expect(resultOf(run)).toMatchObject({ outcome: 'failed', view: null });
    expect(run.stage.started.slice(2)).toEqual([...mends, 'giveUp', 'reread']);
    await run.stop();
  });

  const failureOf = (id: string) => ({
    type: `xstate.error.actor.${id}`,
    actorId: id,
    error: subject.slots[id]!.errors![0],
  });
});

const doneOf = (id: string, output: unknown = null) => ({
  ...{ type: `xstate.done.actor.${id}`, actorId: id, output },
});
const resultOf = (run: Run): TaskResult => {
  const { status, output } = run.snapshot() as unknown as { status: string; output: TaskResult };
  expect(status).toBe('done');
  return output;
};
