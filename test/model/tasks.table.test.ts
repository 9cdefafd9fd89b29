import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Unreachable } from '../../src/domain/errors.ts';
import type { StepFailure, Outcome, TaskResult } from '../../src/machines/task.ts';
import { mayRest, nodesOf } from '../support/chart-map.ts';
import { effectsOf, ends, fails } from '../support/happenings.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { createStand, type ChartRun } from '../support/chart-run.ts';
import { MACHINE, SLOT } from '../support/facts.ts';
import type { ChartEffect } from '../doubles/scripted-services.ts';
import { viewAt } from '../support/views.ts';
import { testRows } from '../support/rows.ts';
import { CLOSING, TASK_TABLES, type TaskTable } from './tasks.table.ts';

/** Walks each path through the tables of `tasks.table.ts` on a live actor, with all effects. */

/** The end of one service, with an answer or with its own error. */
interface End {
  readonly step: string;
  readonly to: string;
  readonly fails: boolean;
  readonly answer?: unknown;
}
type TaskPath = readonly End[];

const JOB = { slot: SLOT, machineId: MACHINE };
const FIRST = 'claiming';
const LAST = 'ended';
const VIEW = viewAt('Running', 'awaitingHeartbeat');
const errorOf = (service: string) => new Unreachable(`${service} failed`);

const endsOf = (table: TaskTable, step: string): End[] => {
  const { then, orElse } = table[step]!;
  const failed = { step, to: orElse, fails: true };
  if (step === 'rereading') {
    const read = (answer: unknown) => ({ step, to: LAST, fails: false, answer });
    return [read(VIEW), read(null), failed];
  }
  const succeeded =
    typeof then === 'string'
      ? [{ step, to: then, fails: false, answer: { [`of ${step}`]: 'told' } }]
      : Object.entries(then).map(([rung, to]) => ({ step, to, fails: false, answer: { rung } }));
  return [...succeeded, failed];
};

/** Every path from a step to the end. No task goes back, so the paths are few. */
const waysFrom = (table: TaskTable, step: string): TaskPath[] =>
  step === LAST
    ? [[]]
    : endsOf(table, step).flatMap((end) => waysFrom(table, end.to).map((rest) => [end, ...rest]));

const nameOf = (table: TaskTable, way: TaskPath): string =>
  way
    .map(({ step, fails: failed, answer }) => {
      const service = table[step]!.calls;
      if (failed) return `${service} fails`;
      if (step === 'rereading') return `${service}: ${answer === VIEW ? 'a view' : 'none'}`;
      const { rung } = answer as { rung?: string };
      return rung ? `${service}: ${rung}` : service;
    })
    .join(' → ');

/** The task's result: the first failure, and what the rows said at the end. */
function resultOf(table: TaskTable, way: TaskPath): TaskResult {
  const isGivenUp = way.some(({ to }) => to === 'givingUp');
  const isRecorded = way.some(({ step, fails: failed }) => step === 'recording' && !failed);
  const outcome: Outcome = isGivenUp ? 'failed' : isRecorded ? 'done' : 'refused';
  const { answer } = way.at(-1)!;
  return { outcome, failure: failureOf(table, way), view: answer === VIEW ? VIEW : null };
}

function failureOf(table: TaskTable, way: TaskPath): StepFailure | null {
  const first = way.find(({ step, fails: failed }) => failed && step !== 'rereading');
  if (!first || first.step === 'givingUp') return null;
  return { code: 'unreachable', message: errorOf(table[first.step]!.calls).message };
}

const leafOf = (run: ChartRun): string =>
  run
    .snapshot()
    ._nodes.find(({ states }) => Object.keys(states).length === 0)!
    .path.join('.');

const callOf = (table: TaskTable, step: string, way: TaskPath): ChartEffect[] => {
  if (step === LAST) return [];
  const told = step in CLOSING ? [] : way.map(({ answer }) => answer);
  const given = step === 'givingUp' ? [{ failure: failureOf(table, way) }] : told;
  return [['calls', table[step]!.calls, Object.assign({}, JOB, ...given)]];
};

const play = (run: ChartRun, table: TaskTable, { step, fails: failed, answer }: End) => {
  const service = table[step]!.calls;
  return run.play(failed ? fails(service, errorOf(service)) : ends(service, answer));
};

// XState warns of every event that reaches an ended actor; here the events are intended.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

describe.each([agentStart, recovery, deprovision])('$id', (chart) => {
  const table: TaskTable = TASK_TABLES[chart.id as keyof typeof TASK_TABLES];
  const steps = Object.entries(table);
  const services = Object.fromEntries(steps.map(([, { calls }]) => [calls, 'promise' as const]));
  const stand = createStand({ chart, input: JOB, services });
  const ways = waysFrom(table, FIRST);
  /** A shortest path to each step, and to the end. */
  const wayTo = (step: string): TaskPath => {
    if (step === FIRST) return [];
    const found = ways
      .filter((way) => way.some(({ to }) => to === step))
      .map((way) => way.slice(0, way.findIndex(({ to }) => to === step) + 1));
    return found.toSorted((a, b) => a.length - b.length)[0]!;
  };

  testRows(ways.map((way) => [nameOf(table, way), way] as const))('goes %s', async (_, way) => {
    const run = stand.start();
    expect(leafOf(run)).toBe(FIRST);
    expect(run.effects()).toEqual(callOf(table, FIRST, []));
    for (const [at, end] of way.entries()) {
      const effects = await effectsOf(run, () => play(run, table, end));
      expect(effects).toEqual(callOf(table, end.to, way.slice(0, at + 1)));
      expect(leafOf(run)).toBe(end.to);
    }
    const { status, output } = run.snapshot() as unknown as { status: string; output: unknown };
    expect({ status, output }).toEqual({ status: 'done', output: resultOf(table, way) });
    await run.stop();
  });

  testRows([...Object.keys(table), LAST])('%s: goes nowhere else', async (step) => {
    const run = stand.start();
    for (const end of wayTo(step)) await play(run, table, end);
    for (const [late, { calls }] of steps) {
      if (run.stage.live.has(calls)) continue;
      for (const { answer } of endsOf(table, late)) {
        expect(await effectsOf(run, () => run.send(ends(calls, answer))), calls).toEqual([]);
        expect(leafOf(run), calls).toBe(step);
      }
    }
    const stopped = await effectsOf(run, () => run.stop());
    expect(stopped).toEqual(step === LAST ? [] : [['stops', table[step]!.calls]]);
  });

  test('covers everything that the chart has', () => {
    const leaves = nodesOf(stand.chart).filter(mayRest);
    expect(new Set([...Object.keys(table), LAST])).toEqual(
      new Set(leaves.map(({ path }) => path.join('.'))),
    );
    expect(new Set(Object.keys(services))).toEqual(
      new Set(Object.keys(chart.implementations.actors)),
    );
    expect(stand.missed()).toEqual([]);
  });
});
