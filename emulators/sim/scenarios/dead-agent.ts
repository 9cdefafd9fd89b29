import { FAST } from './fast.ts';
import { AFTER_MS, budgetOfAll, pick, type Scenario } from './scenario.ts';
import { devicesOf } from './truth.ts';

/** From the deadline until an agent runs again. */
const RESTART_MS = 5_000;
const BACK_MS = 60_000;

const victimsOf = (machines: number) => Math.min(5, Math.max(1, Math.floor(machines / 10)));

/** The mildest remedy is enough, because the machine itself is healthy. */
export const deadAgent: Scenario = {
  machinesMin: 1,
  summary: 'agents are killed one after another, their machines are healthy',
  perLocation: (machines) => machines,
  recoverer: {
    backoff: { initial: '1s', exponent: 1.2, maximum: '10s' },
    ladder: { restartingAgent: { patience: '10s' }, rebooting: { patience: '30s' } },
  },

  async play({ hosts, machines, host, healthy, now, until, pass, truth }) {
    const struck = devicesOf(pick(hosts.list(), victimsOf(machines)));
    const limitMs = FAST.heartbeatDeadlineMs + RESTART_MS;
    const broken: string[] = [];
    for (const id of struck) {
      const { bootId } = host(id);
      const killedAt = now();
      await hosts.loseAgent(id);
      if (!(await until(() => host(id).agents > 0, BACK_MS))) {
        broken.push(`${id} had no agent ${BACK_MS / 1_000} s after its agent was killed`);
        continue;
      }
      const tookMs = Math.round(now() - killedAt);
      if (tookMs > limitMs) broken.push(`${id} had an agent again only after ${tookMs} ms`);
      if (host(id).bootId !== bootId) broken.push(`${id} was rebooted`);
      if (!(await until(() => healthy() === machines, BACK_MS))) {
        broken.push(`${id} has an agent again and does not count as healthy`);
      }
    }
    await pass(AFTER_MS);
    const { stops } = truth.deeds().seen;
    if (stops !== struck.length) broken.push(`${stops} restarts for ${struck.length} dead agents`);
    return { struck, budget: budgetOfAll(machines), broken };
  },
};
