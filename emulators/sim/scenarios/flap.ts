import { AFTER_MS, budgetOfAll, pick, type Scenario } from './scenario.ts';
import { devicesOf } from './truth.ts';

/** Two minutes are four heartbeat periods; so is this. */
const AGENT_LIFE_MS = 4_000;
/** The simulated provider's rungs, mildest first. */
const LADDER = {
  restartingAgent: { attempts: 2, patience: '10s' },
  rebooting: { attempts: 2, patience: '30s' },
  powerCycling: { attempts: 1, patience: '30s' },
  reinstalling: { attempts: 1, patience: '45s' },
};
const EPISODE_MS = 240_000;

const victimsOf = (machines: number) => Math.min(10, Math.max(2, Math.floor(machines / 20)));

/** Machines that come back each time and fail again need a person in the end. */
export const flap: Scenario = {
  machinesMin: 20,
  summary: 'some agents die every two minutes, scaled',
  perLocation: (machines) => machines,
  recoverer: { backoff: { initial: '1s', exponent: 1.5, maximum: '15s' }, ladder: LADDER },

  async play({ hosts, machines, shown, until, pass, audit, mark }) {
    const struck = devicesOf(pick(hosts.list(), victimsOf(machines)));
    const broken: string[] = [];
    for (const id of struck) hosts.shortenAgents(id, AGENT_LIFE_MS);

    const waiting = () => struck.filter((id) => !shown('Quarantined', 'needsHuman').has(id));
    if (!(await until(() => waiting().length === 0, EPISODE_MS))) {
      broken.push(`${waiting().length} of ${struck.length} that flap did not end needsHuman`);
    }
    await pass(AFTER_MS);
    const wanted = Object.entries(LADDER).flatMap(([rung, { attempts }]) =>
      Array.from({ length: attempts }, () => rung),
    );
    const [asked, coolDowns] = [await audit.askedOf(mark), await audit.coolDowns(mark)];
    for (const id of struck) {
      const done = asked.get(id) ?? [];
      if (done.join() !== wanted.join()) broken.push(`${id} was asked for: ${done.join(', ')}`);
      const waits = coolDowns.get(id) ?? [];
      if (!grows(waits)) broken.push(`${id} cooled down for ${waits.join(', ')} s`);
    }
    return { struck, budget: budgetOfAll(machines), broken };
  },
};

/** Never shorter than before, and longer in the end. */
const grows = (waits: readonly number[]): boolean =>
  waits.length > 1 &&
  waits.every((wait, at) => at === 0 || wait >= waits[at - 1]!) &&
  waits.at(-1)! > waits[0]!;
