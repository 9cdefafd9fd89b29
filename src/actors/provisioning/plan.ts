import { CAPACITIES, DISCREPANCIES } from '../../adapters/metrics/port.ts';
import { explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { reconcile, type Reconciliation } from '../../domain/provisioning/reconcile.ts';
import type { Creations } from './creations.ts';
import { begin, providerNamed, type ProvisionDeps } from './deps.ts';
import type { RoundState } from './round.ts';

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
