import { explain, FleetError } from '../../domain/errors.ts';
import { budgetsOf } from './budgets.ts';
import { readFleet, type Means } from './command.ts';
import { frozenLines, isAnyAlive, NO_DAEMON } from './guard-text.ts';

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
      .filter(({ permits, limit }) => permits >= limit)
      .map(({ scope, permits }) => `${scope}: ${permits} being recovered, and no more may be now`);
    return [...head, ...frozenLines(read), ...spent];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return [...head, `the database cannot be read now: ${explain(error)}`];
  }
}
