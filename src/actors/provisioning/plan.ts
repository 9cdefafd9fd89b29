import { sleep } from '../../adapters/clock/port.ts';
import { CAPACITIES, DISCREPANCIES } from '../../adapters/metrics/port.ts';
import { explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import {
  CONCURRENCY_THROTTLE_MS,
  admissionRefusal,
  type HoldIndex,
} from '../../domain/provisioning/provider-holds.ts';
import {
  reconcile,
  type Creation,
  type Reconciliation,
} from '../../domain/provisioning/reconcile.ts';
import { isReadAlready } from '../../domain/provisioning/stock.ts';
import type { Creations } from './creations.ts';
import { begin, providerNamed, type ProvisionDeps, type RoundState } from './deps.ts';

/** Keys and the like, which creations need at the provider, are put in place again after so long. */
const PREPARE_MS = 24 * 3_600_000;
const PREPARE_LIMIT_MS = 60_000;
/** Where listings lag behind, a new device may appear in them only after so long. */
const LIST_LAG_MS = 5 * 60_000;

/**
 * Decides what this iteration does, by what was read. Creations need a key and the like at the
 * provider: when that cannot be put in place, none is planned.
 */
export async function planRound(
  deps: ProvisionDeps,
  creations: Creations,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<number> {
  const { ends } = begin(deps, signal);
  let plan = decide(deps, creations, state, provider, null);
  if (plan.creations.length > 0) {
    const payload = await prepareFault(deps, state, provider, ends);
    if (payload !== null) plan = decide(deps, creations, state, provider, payload);
  }
  state.plan = plan;
  deps.onPlan?.(provider, plan);
  state.findings = onceCounted(state, plan);
  tell(deps, state, provider, plan, providerNamed(deps, provider).inventory !== undefined);
  return plan.creations.length;
}

function decide(
  deps: ProvisionDeps,
  creations: Creations,
  state: RoundState,
  provider: ProviderName,
  payload: string | null,
): Reconciliation {
  const { listing, rows, atMs, mark } = state.read!;
  const driver = providerNamed(deps, provider);
  const { limits } = deps;
  return reconcile({
    ...rows,
    provider,
    providerHolds: [...deps.holds.holds(provider).values()],
    listed: listing.machines,
    listingComplete: listing.complete,
    unreadable: listing.unreadable ?? [],
    // The database's clock at the moment of reading, taken back by what passed on ours.
    listedAtMs:
      rows.nowMs -
      Math.max(0, atMs - listing.beganAtMs) -
      (driver.capabilities.consistentList ? 0 : LIST_LAG_MS),
    machinesMax: limits.machinesMaxOf?.get(provider) ?? limits.machinesMax,
    chunkSize: driver.inventory ? Infinity : limits.chunkSize,
    self: deps.keeper.current()?.sessionId ?? null,
    running: creations.witnessesSince(provider, mark),
    failedLast: creations.failedLast(),
    underWay: creations.count(provider),
    parallelism: limits.parallelism,
    assimilate: deps.assimilate,
    abandonMs: limits.abandonMs,
    canCreate: driver.capabilities.create,
    payload,
    groupOf: driver.capacityGroup,
  });
}

/** Why nothing can be created; null: all that creations need is in place. */
async function prepareFault(
  deps: ProvisionDeps,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<string | null> {
  const { clock, log } = deps;
  const { preparedAtMs } = state;
  if (preparedAtMs !== null && clock.monotonic() - preparedAtMs < PREPARE_MS) return null;
  try {
    await providerNamed(deps, provider).prepare({ signal, timeoutMs: PREPARE_LIMIT_MS });
    state.preparedAtMs = clock.monotonic();
    return null;
  } catch (error) {
    const cause = explain(error);
    log.warn({ provider, cause }, 'the provider is not ready for creations');
    return cause;
  }
}

/** Two rounds that are given the same listing have made one observation. */
function onceCounted(state: RoundState, { machines }: Reconciliation): RoundState['findings'] {
  const { beganAtMs } = state.read!.listing;
  const isNew = state.countedListingAtMs !== beganAtMs;
  state.countedListingAtMs = beganAtMs;
  if (isNew) return machines;
  return machines.filter(({ action }) => action !== 'markAbsent' && action !== 'confirmMissing');
}

/** Says what has just begun or ended, and exports the figures. */
function tell(
  { bmdb, log, metrics }: ProvisionDeps,
  state: RoundState,
  provider: ProviderName,
  { breaker, leftOut, overLimit, summary }: Reconciliation,
  isInventory: boolean,
): void {
  const news = (type: 'provider.breaker_opened' | 'provider.breaker_closed', reason: string) => {
    bmdb.events
      .append({ type, provider, actor: 'shepherd', reason, details: {} })
      .catch((error: unknown) =>
        log.warn({ provider, cause: explain(error) }, `${type} was not told`),
      );
  };
  if (breaker !== null && state.breakerTold === null) {
    log.error({ provider, breaker }, 'the listing is not believed: nothing is created or marked');
    news('provider.breaker_opened', breaker);
  } else if (breaker === null && state.breakerTold !== null) {
    log.info({ provider }, 'the listing is believed again');
    news('provider.breaker_closed', 'the listing is believed again');
  }
  state.breakerTold = breaker;
  if (overLimit > 0 && !state.isOverLimitTold) {
    const { managed, max } = summary;
    log.warn(
      { provider, managed, max },
      'there are more machines than the limit; none is given up',
    );
  }
  state.isOverLimitTold = overLimit > 0;
  if (isInventory && leftOut > 0 && leftOut !== state.leftOutTold) {
    const { max } = summary;
    log.warn(
      { provider, leftOut, max },
      'listed machines are left out: maxMachines allows no more',
    );
  }
  state.leftOutTold = leftOut;
  const intents = state.read!.rows.intents.filter((intent) => intent.provider === provider).length;
  for (const kind of CAPACITIES) {
    metrics.set('shepherd_provider_capacity', { provider, kind }, summary[kind]);
  }
  for (const kind of DISCREPANCIES) {
    metrics.set('shepherd_provider_discrepancies', { provider, kind }, summary[kind]);
  }
  metrics.set('shepherd_provider_circuit_open', { provider }, breaker === null ? 0 : 1);
  metrics.set('shepherd_provision_intents_open', { provider }, intents);
  metrics.set('shepherd_provision_over_limit', { provider }, overLimit);
}

/**
 * A machine of an inventory is taken in within seconds, or what is to be read of it is slow: then the
 * next round, which takes in what has been read meanwhile, does not wait for it.
 */
const LISTED_WAIT_MS = 10_000;

/**
 * Begins the chunk one after the other, at their distance, as long as the provider's holds allow:
 * an earlier creation may have found a limit meanwhile. None waits for the intent of another. What
 * cannot begin in time is left to the next round, so that creations that hang delay it but little.
 */
export async function beginCreations(
  deps: ProvisionDeps,
  creations: Creations,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<void> {
  const { session, ends } = begin(deps, signal);
  const { clock, limits, log } = deps;
  const { rows, atMs } = state.read!;
  const nowMs = () => rows.nowMs + clock.monotonic() - atMs;
  const population = { count: state.plan!.summary.managed };
  const untilMs = clock.monotonic() + limits.placeWaitMs;
  const begun: Promise<boolean>[] = [];
  const failed = new AbortController();
  for (const creation of state.plan!.creations) {
    if (failed.signal.aborted) break;
    const { unused } = creation;
    const isListed = unused.availability === 'PossiblyUsed';
    const lastMs = isListed ? Math.min(untilMs, clock.monotonic() + LISTED_WAIT_MS) : untilMs;
    const isPlaced =
      isReadAlready(unused) || (await placeFor(deps, creations, provider, lastMs, ends));
    if (!isPlaced) {
      const running = creations.count(provider);
      log.info({ provider, running }, 'the rest is left to the next iteration: no place is free');
      break;
    }
    const waitMs = state.nextCreationAtMs - clock.monotonic();
    if (waitMs > 0) await sleep(clock, waitMs, ends);
    const holds = deps.holds.holds(provider);
    const running = creations.count(provider);
    const admission = { holds, nowMs: nowMs(), machines: population.count, running };
    const refusal = refusalOf(deps, creation, admission);
    if (refusal !== null) {
      log.debug({ slot: creation.slot, refusal }, 'the machine may not be asked for now');
      continue;
    }
    const terms = { session, lease: state.lease, holds, nowMs: nowMs(), population };
    const beginning = creations.begin(creation, terms);
    beginning.catch(() => failed.abort());
    begun.push(beginning);
    // A machine that exists already is only taken in: no limit of the provider counts.
    const gapMs = providerNamed(deps, provider).inventory ? 0 : limits.creationGapMs;
    state.nextCreationAtMs = clock.monotonic() + gapMs;
  }
  await Promise.all(begun);
}

/** Waits until one creation more may run, and tries again each time one ended; false: in vain. */
async function placeFor(
  { clock, limits }: ProvisionDeps,
  creations: Creations,
  provider: ProviderName,
  untilMs: number,
  ends: AbortSignal,
): Promise<boolean> {
  while (creations.count(provider) >= limits.parallelism) {
    const leftMs = untilMs - clock.monotonic();
    if (leftMs <= 0) return false;
    const late = new AbortController();
    const waitMs = Math.min(leftMs, CONCURRENCY_THROTTLE_MS);
    const timer = clock.setTimeout(() => late.abort(), waitMs);
    await creations.whenBelow(provider, limits.parallelism, AbortSignal.any([ends, late.signal]));
    clock.clearTimeout(timer);
    ends.throwIfAborted();
  }
  return true;
}

/** Unfinished creations are machines already: they do not add to the count. */
function refusalOf(
  deps: ProvisionDeps,
  { slot, unused, intent }: Creation,
  now: {
    readonly holds: HoldIndex;
    readonly nowMs: number;
    readonly machines: number;
    readonly running: number;
  },
): string | null {
  const provider = slot.slice(0, slot.indexOf('/')) as ProviderName;
  const { plan: name, location, spot = false } = unused;
  const plan = { name, location, spot };
  return admissionRefusal({
    ...now,
    machines: now.machines - (intent ? 1 : 0),
    payload: null,
    plan,
    group: providerNamed(deps, provider).capacityGroup(plan),
    runningMax: isReadAlready(unused) ? Infinity : deps.limits.parallelism,
    onTrial: new Set(),
  });
}
