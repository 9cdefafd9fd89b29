import { getBorderCharacters, table } from 'table';
import { measureCalls } from '../balancing/calls.ts';
import { measurePlan, measureSteps } from '../balancing/decisions.ts';
import { median } from '../measure.ts';
import type { Suite, SuiteOptions } from '../suite.ts';

const MEMBERS = 10_000;
const MACHINES = 100;

export const suite: Suite = {
  summary: 'plan and member steps for 10 000 members, calls for 100 machines on three ports',
  run: async (options) => {
    const members = scaled(MEMBERS, options);
    const plan = measurePlan(members);
    const steps = measureSteps(members);
    const rounds = Array.from({ length: options.rounds }, (_, at) => {
      const found = { planMs: plan(), stepsMs: steps() };
      options.progress(`round ${at + 1}/${options.rounds}: ${JSON.stringify(found)}`);
      return found;
    });
    const planMs = rounded(median(rounds.map((each) => each.planMs)));
    const stepsMs = rounded(median(rounds.map((each) => each.stepsMs)));
    const machines = Math.max(2, scaled(MACHINES, options));
    options.progress(`${machines} machines come to a pool of three ports, and one goes`);
    const calls = await measureCalls(machines);
    const rows = [
      [`plan for ${members} members`, `${planMs} ms`],
      [`steps of ${members} members`, `${stepsMs} ms`],
      [`changes to set up ${machines} machines`, String(calls.setUp.changes)],
      ['looks meanwhile', String(calls.setUp.looks)],
      ['changes of a settled pass', String(calls.settled.changes)],
      ['looks of a settled pass', String(calls.settled.looks)],
      ['changes when one machine goes', String(calls.leave.changes)],
      ['looks meanwhile', String(calls.leave.looks)],
    ];
    return {
      json: { members, planMs, stepsMs, machines, calls },
      table: table(rows, { border: getBorderCharacters('void') }).trimEnd(),
    };
  },
};

const scaled = (count: number, { scale }: SuiteOptions): number =>
  Math.max(1, Math.round(count * scale));
const rounded = (value: number): number => Number(value.toPrecision(3));
