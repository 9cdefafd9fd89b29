import { findHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { measureCalls } from '../balancing/calls.ts';
import { measureEngineCalls, type EngineCalls } from '../balancing/engine-calls.ts';
import { measureHaproxy, type HaproxyCost } from '../balancing/haproxy.ts';
import { measurePlan, measureSteps } from '../balancing/decisions.ts';
import { median, rounded } from '../measure.ts';
import { scaled, textOf, type Suite, type SuiteOptions } from '../suite.ts';

const MEMBERS = 10_000;
const MACHINES = 100;

export const suite: Suite = {
  summary: 'plan and member steps for 10 000 members, calls for 100 machines on three ports',
  run: async (options) => {
    const members = scaled(MEMBERS, options);
    const plan = measurePlan(members, 1);
    const planOfThree = measurePlan(members, 3);
    const steps = measureSteps(members);
    const rounds = Array.from({ length: options.rounds }, (_, at) => {
      const found = { planMs: plan(), plan3Ms: planOfThree(), stepsMs: steps() };
      options.progress(`round ${at + 1}/${options.rounds}: ${JSON.stringify(found)}`);
      return found;
    });
    const planMs = rounded(median(rounds.map((each) => each.planMs)));
    const plan3Ms = rounded(median(rounds.map((each) => each.plan3Ms)));
    const stepsMs = rounded(median(rounds.map((each) => each.stepsMs)));
    const machines = scaled(MACHINES, options, 2);
    options.progress(`${machines} machines come to a pool of three ports, and one goes`);
    const calls = await measureCalls(machines);
    options.progress(
      'the same on the Engine, over HTTP, whose lists have short rows, or full ones',
    );
    const short = await measureEngineCalls(machines, 'short');
    const full = await measureEngineCalls(machines, 'full');
    const haproxy = await measured(machines, options);
    const rows = [
      [`plan for ${members} members`, `${planMs} ms`],
      [`the same with three ports`, `${plan3Ms} ms`],
      [`steps of ${members} members`, `${stepsMs} ms`],
      [`changes to set up ${machines} machines`, String(calls.setUp.changes)],
      ['looks meanwhile', String(calls.setUp.looks)],
      ['changes of a settled pass', String(calls.settled.changes)],
      ['looks of a settled pass', String(calls.settled.looks)],
      ['changes when one machine goes', String(calls.leave.changes)],
      ['looks meanwhile', String(calls.leave.looks)],
      ['pages of lists in one look at the Engine', String(short.pagesPerLook)],
      ['calls of a first look, short and full rows', both(short.first, full.first)],
      ['calls when one machine goes', both(short.leave, full.leave)],
      ['calls when one machine comes', both(short.join, full.join)],
      ['calls of a settled pass', both(short.resync, full.resync)],
      ...(haproxy
        ? [
            ['reloads of HAProxy to set them up', String(haproxy.reloads)],
            ['files checked meanwhile', String(haproxy.checks)],
            ['until all of them serve', `${rounded(haproxy.seconds)} s`],
            ['longest turn', `${rounded(haproxy.longestMs)} ms`],
          ]
        : [['set up on HAProxy', 'not measured: haproxy is not installed']]),
    ];
    return {
      json: {
        members,
        planMs,
        plan3Ms,
        stepsMs,
        machines,
        calls,
        engine: { short, full },
        haproxy,
      },
      table: textOf(rows),
    };
  },
};

async function measured(machines: number, { progress }: SuiteOptions): Promise<HaproxyCost | null> {
  if (findHaproxy() === null) {
    progress('NOT MEASURED: the cost at HAProxy, which is not installed: apt-get install haproxy');
    return null;
  }
  progress('the same on the real HAProxy');
  return measureHaproxy(machines);
}

const sumOf = ({ pages, polls, fetches, changes }: EngineCalls): number =>
  pages + polls + fetches + changes;
const both = (short: EngineCalls, full: EngineCalls): string => `${sumOf(short)}, ${sumOf(full)}`;
