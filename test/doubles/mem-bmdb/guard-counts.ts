import {
  barOf,
  currentHeartbeat,
  installState,
  isLost,
  isQuarantined,
  lostAtMs,
} from '../../../src/domain/eligibility.ts';
import type { GuardRow, HoldRow, MachineRow } from '../../../src/domain/machine.ts';
import { PERMIT_RETURNED_AFTER } from '../../../src/domain/policy.ts';
import type { LossPolicy } from '../../../src/domain/policy.ts';
import {
  noCounts,
  type ProviderCounts,
  RETRIED_WITHIN,
  sumOfScopes,
} from '../../../src/domain/recovery/guard-rules.ts';
import { FLEET } from '../../../src/domain/recovery/guard-judgement.ts';
import type {
  GuardCounts,
  GuardPolicy,
  Ingest,
} from '../../../src/domain/recovery/guard-judgement.ts';

/** A machine as the guard counts it. */
export interface GuardedMachine {
  readonly row: MachineRow;
  /** The present run of heartbeats without gaps. */
  readonly unbroken: { readonly sinceMs: number; readonly count: number };
  /**
   * Time since which each agent start fails because the machine is unreachable or refuses us; null:
   * the last failure was different. Counts while that process has a backoff.
   */
  readonly unreachableSinceMs: number | null;
}

/** The inputs of the counts besides the machines. */
export interface GuardCounting {
  readonly rows: readonly GuardRow[];
  readonly holds: readonly HoldRow[];
  readonly ingest: Ingest;
  readonly loss: LossPolicy;
  readonly policy: GuardPolicy;
  readonly nowMs: number;
}

/**
 * Counts machines for the guard: of the fleet, and of each provider with machines. The BMDB's SQL
 * computes the same.
 */
export function countGuarded(
  machines: Iterable<GuardedMachine>,
  counting: GuardCounting,
): readonly GuardCounts[] {
  const providers = new Map<
    string,
    { -readonly [Key in keyof ProviderCounts]: ProviderCounts[Key] }
  >();
  for (const machine of machines) {
    const { row } = machine;
    if (!row.provided || installState(row) === 'DONE' || isQuarantined(row, counting.nowMs))
      continue;
    const scope: string = row.provided.provider;
    const counts = providers.get(scope) ?? { ...noCounts(scope), silentOfFleet: 0 };
    providers.set(scope, counts);
    const told = tellOf(machine, scope, counting);
    counts.machines += 1;
    counts.started += Number(row.agentStarted !== null);
    counts.silent += Number(told.isSilent(scope));
    counts.silentOfFleet += Number(told.isSilent(FLEET));
    counts.newlySilent += Number(told.isNew);
    counts.quiet += Number(told.isNew || told.isLate);
    counts.unreachable += Number(isUnreachable(machine, scope, counting));
  }
  return sumOfScopes([...providers.values()]);
}

function tellOf(machine: GuardedMachine, provider: string, counting: GuardCounting) {
  const { row, unbroken } = machine;
  const { nowMs, loss, rows } = counting;
  const heartbeat = currentHeartbeat(row);
  const lost = isLost(row, nowMs, loss);
  const isOrdered = heartbeat !== null && isOrderedSilence(row, heartbeat.atMs, loss);
  const isLate =
    !lost &&
    !isOrdered &&
    heartbeat !== null &&
    nowMs > heartbeat.atMs + 2 * loss.periodMs &&
    !isInstalling(row, counting);
  const isBack = (scope: string): boolean => {
    const frozenAtMs = rows.find((each) => each.scope === scope)?.frozen?.atMs;
    if (frozenAtMs === undefined || heartbeat === null) return false;
    const wasThere = row.agentStarted!.atMs <= frozenAtMs && unbroken.sinceMs > frozenAtMs;
    return wasThere && unbroken.count < PERMIT_RETURNED_AFTER;
  };
  return {
    isSilent: (scope: string) => lost || isBack(scope),
    isNew: lost && !isOrdered && isNewlyLost(lostAtMs(row, loss)!, provider, counting),
    isLate,
  };
}

/** The machine was heard until an order interrupted it, and not for long afterwards. */
function isOrderedSilence(
  { recovery }: MachineRow,
  heardAtMs: number,
  { periodMs, heartbeatMs }: LossPolicy,
): boolean {
  const { orderKey = null, askedAtMs = null } = recovery ?? {};
  if (orderKey === null || askedAtMs === null) return false;
  return heardAtMs >= askedAtMs - 2 * periodMs && heardAtMs <= askedAtMs + 2 * heartbeatMs;
}

/**
 * Agent starts are still attempted, and have not reached the machine since some time after the last
 * thaw. Without attempts the machine does not count as unreachable.
 */
function isUnreachable(
  machine: GuardedMachine,
  provider: string,
  counting: GuardCounting,
): boolean {
  const { row, unreachableSinceMs: sinceMs } = machine;
  const wait = row.backoffs.find(({ process }) => process === 'ShepherdAgentStart');
  if (sinceMs === null || !wait || row.agentStarted) return false;
  if (sinceMs <= lastThawMs(provider, counting)) return false;
  const waitMs = (wait.lastIntervalSeconds ?? 0) * 1_000;
  if (counting.nowMs > wait.untilMs + RETRIED_WITHIN * waitMs) return false;
  return barOf('ShepherdAgentStart', row, counting) === null;
}

/** When an operator last thawed the fleet or the provider. */
const lastThawMs = (provider: string, { rows }: GuardCounting): number =>
  Math.max(
    ...rows
      .filter(({ scope }) => scope === FLEET || scope === provider)
      .map((row) => row.thawedAtMs ?? Number.NEGATIVE_INFINITY),
    Number.NEGATIVE_INFINITY,
  );

/** An installing agent owes no heartbeats. */
function isInstalling(row: MachineRow, { nowMs, loss }: GuardCounting): boolean {
  const { handedOutAtMs } = row.installation;
  return (
    installState(row) === 'PENDING' &&
    handedOutAtMs !== null &&
    handedOutAtMs + loss.handOutMs >= nowMs
  );
}

/**
 * A machine that fell silent while no heartbeats were received is found lost only after heartbeats
 * have been received for long enough. From then on it counts as new.
 */
function isNewlyLost(lostAt: number, provider: string, counting: GuardCounting): boolean {
  const { ingest, loss, policy, nowMs } = counting;
  if (lostAt <= lastThawMs(provider, counting)) return false;
  const { upSinceMs, lostAtMs: breakAtMs } = ingest;
  const wasWatched = breakAtMs !== null && lostAt <= breakAtMs;
  if (!wasWatched && upSinceMs === null) return false;
  const foundAt = wasWatched ? lostAt : Math.max(lostAt, upSinceMs! + loss.heartbeatMs);
  return foundAt >= nowMs - policy.newForMs && foundAt <= nowMs;
}
