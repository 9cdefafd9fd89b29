import { findHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { measurePlan, measureSteps } from '../balancing/decisions.ts';
import { measureEngineCalls } from '../balancing/engine-calls.ts';
import { measureHaproxy } from '../balancing/haproxy.ts';
import { inRounds, roundedOf, scaled, type Suite } from '../suite.ts';

const MEMBERS = 10_000;
const MACHINES = 100;

export const suite: Suite = {
  summary: 'plan and member steps for 10 000 members, calls for 100 machines on three ports',
  async run(options) {
    const members = scaled(MEMBERS, options);
    const [plan, plan3, steps] = [
      measurePlan(members, 1),
      measurePlan(members, 3),
      measureSteps(members),
    ];
    const decisions = await inRounds(options, () => ({
      ...{ planMs: plan(), plan3Ms: plan3(), stepsMs: steps() },
    }));
    const machines = scaled(MACHINES, options, 2);
    options.progress(`${machines} machines come to a pool of three ports of the Engine, over HTTP`);
    const engine = {
      short: await measureEngineCalls(machines, 'short'),
      full: await measureEngineCalls(machines, 'full'),
    };
    const isMissing = findHaproxy() === null;
    options.progress(
      isMissing
        ? 'NOT MEASURED: the cost at HAProxy, which is not installed: apt-get install haproxy'
        : 'the same on the real HAProxy',
    );
    const haproxy = isMissing ? null : roundedOf(await measureHaproxy(machines));
    return { members, ...decisions, machines, engine, haproxy };
  },
};
