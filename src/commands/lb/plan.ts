import { createHash } from 'node:crypto';
import { poolsOf } from '../../config.ts';
import { otherPlaces, type MemberRow, type Wish } from '../../domain/balancing/members.ts';
import { poolPlanOf, toldPoolPlan, type PoolPlan } from '../../domain/balancing/pool-plan.ts';
import { newPool } from '../../domain/balancing/pool-row.ts';
import { memberAddress, wishOf } from '../../domain/balancing/wish.ts';
import type { MachineId } from '../../domain/ids.ts';
import { readFleet, type Means, type Told } from '../machine/command.ts';
import type { RecordedFleet } from '../machine/recorded-fleet.ts';
import { EXIT_FAILED } from '../remote/failures.ts';
import type { Format } from '../remote/flags.ts';
import { documentText, isData } from '../remote/output.ts';
import { readAtBalancers, type Looking, type PoolThere } from './observed.ts';
import { poolPlanText } from './plan-text.ts';
import { placesOf } from './pools.ts';

export interface PlanOptions extends Looking {
  /** Only this one; all configured ones when absent. */
  readonly pool?: string | undefined;
  readonly format: Format;
}

/**
 * `shepherd lb plan` past the console: reads what is at the balancers, and tells what would be done there
 * next by the members that the BMDB has now. Changes nothing.
 * @throws {NotFound} there is no such pool.
 */
export async function poolPlan(options: PlanOptions, means: Means): Promise<Told> {
  const pools = placesOf(options.pool, poolsOf(means.config));
  const fleet = await readFleet(means);
  const there = await readAtBalancers(pools, options, means);
  const { nowMs } = fleet.read;
  const plans = there.map((each) => planFor(each, fleet));
  const told = plans.map((each) => ({
    ...{ pool: each.pool, balancer: each.balancer, seenAtMs: nowMs },
    plan: toldPoolPlan(each),
  }));
  const exitCode = plans.every(({ failure }) => failure === null) ? 0 : EXIT_FAILED;
  if (isData(options.format)) {
    return { text: await documentText({ atMs: nowMs, pools: told }, options.format), exitCode };
  }
  if (told.length === 0) return { text: 'no pool is configured', exitCode };
  return { text: told.map((each) => poolPlanText(each, means.width)).join('\n\n'), exitCode };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function planFor(there: PoolThere, fleet: RecordedFleet): PoolPlan {
  const { pool, balancer } = there;
  const { read, entries, loss } = fleet;
  const place = { pool: pool.pool, balancer };
  const row =
    read.pools.find((each) => each.pool === place.pool && each.balancer === balancer) ??
    newPool(place);
  const wishes = new Map<MachineId, Wish>();
  const names = new Map<MachineId, string>();
  // Of the guard nothing is known here, and what only a provider tells is not either.
  const moment = { nowMs: read.nowMs, loss, standings: [] };
  for (const { facts, view } of entries) {
    const wish = wishOf(facts, view, pool, moment);
    if (wish) wishes.set(wish.machineId, wish);
    if (facts.row) names.set(facts.row.machineId, facts.slot);
  }
  const members = new Map<MachineId, MemberRow>();
  const elsewhere = new Map<MachineId, readonly MemberRow[]>();
  for (const machine of read.machines) {
    const own = machine.members.find(
      (each) => each.pool === pool.pool && each.balancer === balancer,
    );
    if (own) members.set(machine.machineId, own);
    elsewhere.set(machine.machineId, otherPlaces(machine.members, place));
  }
  const addresses = new Map(
    read.machines.map(({ machineId, provided }) => [machineId, provided?.address ?? null]),
  );
  return poolPlanOf({
    ...{ ...there, row, wishes, members, elsewhere, sha256, nowMs: read.nowMs },
    addressOf: (machine) => memberAddress(addresses.get(machine) ?? null),
    nameOf: (machine) => names.get(machine) ?? machine,
  });
}
