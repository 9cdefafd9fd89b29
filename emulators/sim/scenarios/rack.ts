import { DEFAULT_BUDGET, groupBudget } from '../../../src/domain/policy.ts';
import { ERASING_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { AFTER_MS, type Scenario } from './scenario.ts';
import { devicesOf } from './truth.ts';

const RACK_MAX = 30;
const PATIENCE = '2s';
/** About twice a machine's time from its last heartbeat to its end. */
const EPISODE_MS = 90_000;

const sizeOf = (machines: number) => Math.min(RACK_MAX, Math.max(3, Math.round(machines / 10)));

/** Machines that nothing brings back: every remedy is tried on each, a few machines at a time. */
export const rack: Scenario = {
  machinesMin: 30,
  summary: 'all machines of one location lose their power for ever',
  perLocation: sizeOf,
  recoverer: {
    backoff: { initial: '1s', exponent: 1.2, maximum: '3s' },
    ladder: {
      restartingAgent: { patience: PATIENCE },
      rebooting: { patience: PATIENCE },
      powerCycling: { patience: PATIENCE },
      reinstalling: { patience: PATIENCE },
    },
  },

  async play({ hosts, machines, shown, until, pass, audit, mark, truth, daemon }) {
    const places = [...daemon.board.entries.values()].map(({ view }) => view);
    const place = places[0]!.location;
    const rackDevices = new Set(
      places.filter(({ location }) => location === place).map(({ providerId }) => providerId),
    );
    const struck = devicesOf(hosts.list()).filter((id) => rackDevices.has(id));
    const size = sizeOf(machines);
    const budget = groupBudget(DEFAULT_BUDGET, size);
    const broken: string[] = [];
    if (struck.length !== size) broken.push(`${place} has ${struck.length} machines, not ${size}`);
    await Promise.all(struck.map((id) => hosts.losePower(id, true)));

    const waiting = () => struck.filter((id) => !shown('Quarantined', 'needsHuman').has(id));
    const turns = Math.ceil(size / budget) + 1;
    if (!(await until(() => waiting().length === 0, turns * EPISODE_MS))) {
      broken.push(`${waiting().length} of ${size} machines without power did not end needsHuman`);
    }
    await pass(AFTER_MS);
    const asked = await audit.askedOf(mark);
    for (const id of struck) broken.push(...climbOf(id, asked.get(id) ?? []));
    const boots = struck.filter((id) => (truth.deeds().seenBy.get(id)?.boots ?? 0) > 0);
    if (boots.length > 0) broken.push(`${boots.length} machines without power booted`);
    return { struck, budget, broken };
  },
};

/** Every remedy as often as the ladder says, mildest first. */
function climbOf(device: string, asked: readonly string[]): string[] {
  const rungs = ['rebooting', 'powerCycling', 'reinstalling'] as const;
  const wanted = rungs.flatMap((rung) =>
    Array.from({ length: ERASING_LADDER[rung].attempts }, () => rung),
  );
  const same = asked.join() === wanted.join();
  return same ? [] : [`${device} was asked for: ${asked.join(', ')}`];
}
