import { FAST } from './fast.ts';
import { AFTER_MS, budgetOfAll, type Scenario } from './scenario.ts';
import { devicesOf } from './truth.ts';

/** Duration of the silence in heartbeat deadlines. */
const CUT_DEADLINES = 3;
const BACK_MS = 90_000;

/** The heartbeats are cut, not the machines: nothing may be done to any machine. */
export const storm: Scenario = {
  machinesMin: 10,
  summary: 'no agent reaches the agent server for three heartbeat deadlines',
  perLocation: (machines) => Math.max(1, Math.ceil(machines / 10)),
  recoverer: {},

  async play({ hosts, daemon, machines, healthy, pass, until }) {
    const all = devicesOf(hosts.list());
    const broken: string[] = [];
    hosts.cutAgents(all, true);
    await pass(CUT_DEADLINES * FAST.heartbeatDeadlineMs);
    const { state } = daemon.guard();
    if (state !== 'frozen') broken.push(`the guard was ${state} while nobody was heard`);
    if (healthy() > 0) broken.push(`${healthy()} machines counted as healthy, and none was heard`);
    hosts.cutAgents(all, false);
    const isBack = () => healthy() === machines && daemon.guard().state === 'watching';
    if (!(await until(isBack, BACK_MS))) {
      broken.push(`${healthy()} of ${machines} were healthy, the guard ${daemon.guard().state}`);
    }
    await pass(AFTER_MS);
    return { struck: [], budget: budgetOfAll(machines), broken };
  },
};
