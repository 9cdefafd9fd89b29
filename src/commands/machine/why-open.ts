import { explain, FleetError } from '../../domain/errors.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { budgetsOf } from './budgets.ts';
import { readFleet, type Means } from './command.ts';
import { frozenLines, isAnyAlive, NO_DAEMON } from './guard-text.ts';
import { ORDERS_KEPT } from '../../domain/policy.ts';
import { spanText } from '../../domain/spans.ts';
import type { RecordedFleet } from './recorded-fleet.ts';

const WAITS = 'not settled yet; it is carried out as soon as it can be, while it is valid';

/** What was asked for. Only orders are kept from being carried out by freezes and budgets. */
export interface Asked {
  readonly isOrder: boolean;
  /** Somebody waited for it. */
  readonly waited: boolean;
}

/** What keeps daemons from carrying requests out now, a line for each thing. */
export async function whyOpen({ isOrder, waited }: Asked, means: Means): Promise<string[]> {
  const head = waited ? [WAITS] : [];
  if (means.signal.aborted) return head;
  try {
    const { read, ...fleet } = await readFleet(means);
    if (!isAnyAlive(read.sessions)) return [...head, NO_DAEMON];
    if (!isOrder) return head;
    const spent = budgetsOf(fleet, means.config.guard)
      .filter(({ permits, limit }) => permits >= limit + ORDERS_KEPT)
      .map(({ scope, permits }) => `${scope}: ${permits} being recovered, and no more may be now`);
    return [...head, ...frozenLines(read), ...spent, ...untendedLines(read)];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return [...head, `the database cannot be read now: ${explain(error)}`];
  }
}

/** A pool that is tended is read from its balancer every five minutes or so. */
const UNTENDED_MS = 15 * 60_000;

/** Pools that nobody seems to tend, and that machines with an order are still to be let go by. */
function untendedLines({ machines, pools, nowMs }: RecordedFleet['read']): string[] {
  const waitsFor = machines.flatMap(({ order, members }) =>
    order === null ? [] : members.filter(mayServe),
  );
  return pools
    .filter(
      ({ observedAtMs, paused }) => paused === null && nowMs - (observedAtMs ?? 0) > UNTENDED_MS,
    )
    .filter(({ pool, balancer }) =>
      waitsFor.some((each) => each.pool === pool && each.balancer === balancer),
    )
    .map(({ pool, balancer, observedAtMs }) => {
      const read =
        observedAtMs === null
          ? 'was never read'
          : `was not read for ${spanText(nowMs - observedAtMs)}`;
      return (
        `pool ${pool} at ${balancer} ${read}, so perhaps nobody tends it: ` +
        `"shepherd lb status ${pool}" tells more`
      );
    });
}
