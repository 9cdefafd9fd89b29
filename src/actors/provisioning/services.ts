import { fromPromise } from 'xstate';
import { sleep } from '../../adapters/clock/port.ts';
import { createNews, type TellNews } from '../../adapters/log/port.ts';
import { CAPACITIES, DISCREPANCIES } from '../../adapters/metrics/port.ts';
import { explain, isProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import {
  CONCURRENCY_THROTTLE_MS,
  admissionRefusal,
  facetsOf,
  type AdmissionInput,
} from '../../domain/provisioning/provider-holds.ts';
import {
  reconcile,
  type PlannedCreation,
  type Reconciliation,
} from '../../domain/provisioning/reconcile.ts';
import { isReadAlready } from '../../domain/provisioning/stock.ts';
import type { ListingOutcome, Round } from '../../machines/provisioner.ts';
import { provisionerJob } from '../leases.ts';
import { createCreations, type Creations, type CreationCounts } from './creations.ts';
import {
  newRound,
  providerNamed,
  type Iteration,
  type ProvisionDeps,
  type RoundState,
} from './deps.ts';
import { recordFindings, resolveIntents } from './record.ts';

/** Services of the `provisioner` chart, and the creations that outlive its iterations. */
export interface Provisioning {
  readonly services: ReturnType<typeof servicesOf>;
  /** Logs one structured line per iteration; at debug level if it equals the last one. */
  report(provider: ProviderName): void;
  /** Lets creations complete for `graceMs`, then aborts and awaits them. */
  drain(graceMs: number): Promise<void>;
}

export function createProvisioning(deps: ProvisionDeps): Provisioning {
  const creations = createCreations(deps);
  const rounds = new Map<ProviderName, RoundState>();
  const tellNews = createNews(deps.log);
  return {
    services: servicesOf(deps, creations, rounds),
    report(provider) {
      const tally = creations.takeTally(provider);
      const round = rounds.get(provider);
      if (round?.plan) reportRound(tellNews, provider, round, tally, deps.clock.monotonic());
    },
    drain: creations.drain,
  };
}

function servicesOf(
  deps: ProvisionDeps,
  creations: Creations,
  rounds: Map<ProviderName, RoundState>,
) {
  /** A live session, and the signal of a step under it. @throws {SessionExpired} */
  const under = (signal: AbortSignal) => {
    const session = deps.keeper.require();
    return { session, ends: AbortSignal.any([signal, session.signal]) };
  };
  const step = <Output>(act: (at: Iteration) => Promise<Output>) =>
    fromPromise<Output, Round>(async ({ input: { provider: name }, signal }) => {
      const state = rounds.get(name);
      if (!state) throw new Error(`no iteration of ${name} was begun`);
      const provider = providerNamed(deps, name);
      return act({ deps, creations, name, provider, state, ...under(signal) });
    });
  return {
    takeLease: fromPromise<void, Round>(async ({ input: { provider }, signal }) => {
      const lease = await deps.leases.take(provisionerJob(provider), under(signal).ends);
      const begunAtMs = deps.clock.monotonic();
      rounds.set(provider, {
        ...(rounds.get(provider) ?? newRound()),
        lease,
        begunAtMs,
        plan: null,
      });
    }),
    resolveIntents: step(resolveIntents),
    listBoth: step(listBoth),
    planRound: step(planRound),
    recordFindings: step(recordFindings),
    beginCreations: step(beginCreations),
  };
}

/** Pause after a provider refused our credentials. */
const REFUSED_MS = 60_000;

/** Lists provider and BMDB at the same time; the first failure aborts the other. */
async function listBoth({
  deps,
  creations,
  name,
  state,
  ends,
}: Iteration): Promise<ListingOutcome> {
  const failing = new AbortController();
  const both = AbortSignal.any([ends, failing.signal]);
  const mark = creations.mark();
  state.read = null;
  try {
    const [listing, { rows, atMs }] = await Promise.all([
      deps.listings.list(name, both),
      deps.mirror.readFleet(both).then((rows) => ({ rows, atMs: deps.clock.monotonic() })),
    ]);
    state.read = { listing, rows, atMs, mark };
    return { kind: 'listed' };
  } catch (error) {
    failing.abort(error);
    const pauseMs = pauseAfter(error, deps.clock.now());
    if (pauseMs === null) throw error;
    return { kind: 'paused', pauseMs, reason: explain(error) };
  }
}

/** Pause before the next call to the provider, milliseconds; null: unknown. */
function pauseAfter(error: unknown, clockMs: number): number | null {
  const { retryAtMs } = facetsOf(error);
  if (retryAtMs !== null && retryAtMs > clockMs) return retryAtMs - clockMs;
  return isProviderError(error, 'auth') ? REFUSED_MS : null;
}

/** Logs the iteration's summary, with the fields named in the operators' documents. */
function reportRound(
  tellNews: TellNews,
  provider: ProviderName,
  round: RoundState,
  tally: CreationCounts,
  atMs: number,
): void {
  const { bmdb, used, free, failed, orphan, missing, penalised, managed, max } =
    round.plan!.summary;
  const duration = Math.round(atMs - round.begunAtMs) / 1_000;
  const counts = { bmdb, used, free, failed, orphan, missing, penalised, managed, max };
  const ended = { created: tally.created, create_failed: tally.failed };
  tellNews(provider, { provider, ...counts, ...ended }, 'provisioner iteration', { duration });
  // Frees a copy of the whole fleet that is no longer needed.
  round.read = null;
  round.plan = null;
  round.findings = [];
}

/** Interval at which keys and other requirements of creations are put in place again. */
const PREPARE_MS = 24 * 3_600_000;
const PREPARE_LIMIT_MS = 60_000;
/** In lagging listings, a new device may appear only after this long. */
const LIST_LAG_MS = 5 * 60_000;

/**
 * Plans this iteration from the last reading. Creations need a key and other objects at the
 * provider: without them, none is planned.
 */
async function planRound(at: Iteration): Promise<number> {
  const { deps, name, state } = at;
  let plan = decide(at, null);
  if (plan.creations.length > 0) {
    const payload = await prepareFault(at);
    if (payload !== null) plan = decide(at, payload);
  }
  state.plan = plan;
  deps.onPlan?.(name, plan);
  state.findings = onceCounted(state, plan);
  tell(at, plan);
  return plan.creations.length;
}

function decide(
  { deps, creations, name, provider, state }: Iteration,
  payload: string | null,
): Reconciliation {
  const { listing, rows, atMs, mark } = state.read!;
  const { limits } = deps;
  return reconcile({
    ...rows,
    provider: name,
    providerHolds: [...deps.holds.holds(name).values()],
    listed: listing.machines,
    listingComplete: listing.complete,
    unreadable: listing.unreadable ?? [],
    // The database clock at the read, minus the time that passed on our clock.
    listedAtMs:
      rows.nowMs -
      Math.max(0, atMs - listing.beganAtMs) -
      (provider.capabilities.consistentList ? 0 : LIST_LAG_MS),
    machinesMax: limits.machinesMaxOf?.get(name) ?? limits.machinesMax,
    target: limits.targetOf?.get(name),
    replacementBar: limits.replacementBar?.(name, rows.nowMs) ?? null,
    chunkSize: provider.inventory ? Infinity : limits.chunkSize,
    self: deps.keeper.current()?.sessionId ?? null,
    running: creations.witnessesSince(name, mark),
    failedLast: creations.failedLast(),
    underWay: creations.count(name),
    parallelism: limits.parallelism,
    assimilate: deps.assimilate,
    abandonMs: limits.abandonMs,
    canCreate: provider.capabilities.create,
    payload,
    groupOf: provider.capacityGroup,
  });
}

/** Why nothing can be created; null: all requirements are in place. */
async function prepareFault({ deps, name, ...at }: Iteration): Promise<string | null> {
  const { clock, log } = deps;
  const { state, provider, ends: signal } = at;
  const { preparedAtMs } = state;
  if (preparedAtMs !== null && clock.monotonic() - preparedAtMs < PREPARE_MS) return null;
  try {
    await provider.prepare({ signal, timeoutMs: PREPARE_LIMIT_MS });
    state.preparedAtMs = clock.monotonic();
    return null;
  } catch (error) {
    const cause = explain(error);
    log.warn({ provider: name, cause }, 'the provider is not ready for creations');
    return cause;
  }
}

/** Two rounds with the same listing count as one observation. */
function onceCounted(state: RoundState, { machines }: Reconciliation): RoundState['findings'] {
  const { beganAtMs } = state.read!.listing;
  const isNew = state.countedListingAtMs !== beganAtMs;
  state.countedListingAtMs = beganAtMs;
  if (isNew) return machines;
  return machines.filter(({ action }) => action !== 'markAbsent' && action !== 'confirmMissing');
}

/** Logs changes and exports the figures. */
function tell(
  { deps, name: provider, provider: { inventory }, state }: Iteration,
  { breaker, leftOut, overLimit, service, summary }: Reconciliation,
): void {
  const { bmdb, log, metrics } = deps;
  const { managed, max } = summary;
  const news = (type: 'provider.breaker_opened' | 'provider.breaker_closed', reason: string) => {
    bmdb.events
      .append({ type, provider, actor: 'shepherd', reason, details: {} })
      .catch((error: unknown) =>
        log.warn({ provider, cause: explain(error) }, `the event ${type} could not be written`),
      );
  };
  if (breaker !== null && state.breakerTold === null) {
    log.error({ provider, breaker }, 'the listing is not trusted: nothing is created or marked');
    news('provider.breaker_opened', breaker);
  } else if (breaker === null && state.breakerTold !== null) {
    log.info({ provider }, 'the listing is trusted again');
    news('provider.breaker_closed', 'the listing is trusted again');
  }
  state.breakerTold = breaker;
  if (overLimit > 0 && !state.isOverLimitTold) {
    log.warn(
      { provider, managed, max },
      'there are more machines than the limit; all of them stay',
    );
  }
  state.isOverLimitTold = overLimit > 0;
  const surplus = service?.surplus ?? 0;
  if (surplus > 0 && !state.isSurplusTold) {
    log.warn(
      { provider, surplus, target: service!.target },
      'more machines are in service than the target; all of them stay',
    );
  }
  state.isSurplusTold = surplus > 0;
  if (inventory && leftOut > 0 && leftOut !== state.leftOutTold) {
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
  const { target = 0, inService = 0, replacedToday = 0 } = service ?? {};
  metrics.set('shepherd_provision_below_target', { provider }, Math.max(0, target - inService));
  metrics.set('shepherd_provision_replacements_today', { provider }, replacedToday);
}

/**
 * An inventory machine is recorded within seconds unless its read is slow. The next round records
 * the machines that were read meanwhile, without waiting for the slow one.
 */
const LISTED_WAIT_MS = 10_000;

/**
 * Begins the chunk's creations one by one, at their distance, while the provider's holds allow: an
 * earlier creation may have met a limit. None waits for another's intent. Creations that cannot
 * begin in time are left to the next round, so that hanging creations delay it little.
 */
async function beginCreations(at: Iteration): Promise<void> {
  const { deps, creations, name: provider, state, session, ends } = at;
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
    const isPlaced = isReadAlready(unused) || (await placeFor(at, lastMs));
    if (!isPlaced) {
      const running = creations.count(provider);
      log.info(
        { provider, running },
        'the remaining creations wait for the next iteration: no place is free',
      );
      break;
    }
    const waitMs = state.nextCreationAtMs - clock.monotonic();
    if (waitMs > 0) await sleep(clock, waitMs, ends);
    const holds = deps.holds.holds(provider);
    const running = creations.count(provider);
    const admission = { holds, nowMs: nowMs(), machines: population.count, running };
    const refusal = refusalOf(at, creation, admission);
    if (refusal !== null) {
      log.debug({ slot: creation.slot, refusal }, 'the machine may not be requested now');
      continue;
    }
    const terms = { session, lease: state.lease, holds, nowMs: nowMs(), population };
    const beginning = creations.begin(creation, terms);
    beginning.catch(() => failed.abort());
    begun.push(beginning);
    // An existing machine is only recorded: no limit of the provider applies.
    const gapMs = isListed ? 0 : limits.creationGapMs;
    state.nextCreationAtMs = clock.monotonic() + gapMs;
  }
  await Promise.all(begun);
}

/** Waits for room for one more creation, and retries when one ends; false: no room in time. */
async function placeFor(
  { deps: { clock, limits }, creations, name: provider, ends }: Iteration,
  untilMs: number,
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

/** Unfinished creations already count as machines. */
function refusalOf(
  { deps: { limits }, provider }: Iteration,
  { unused, intent }: PlannedCreation,
  now: Pick<AdmissionInput, 'holds' | 'nowMs' | 'machines' | 'running'>,
): string | null {
  const { plan: name, location, spot = false } = unused;
  const plan = { name, location, spot };
  return admissionRefusal({
    ...now,
    machines: now.machines - (intent ? 1 : 0),
    payload: null,
    plan,
    group: provider.capacityGroup(plan),
    runningMax: isReadAlready(unused) ? Infinity : limits.parallelism,
    onTrial: new Set(),
  });
}
