import { sleep } from '../../adapters/clock/port.ts';
import type { ProviderName } from '../../domain/ids.ts';
import {
  admissionRefusal,
  CONCURRENCY_THROTTLE_MS,
  type HoldIndex,
} from '../../domain/provisioning/provider-holds.ts';
import type { Creation } from '../../domain/provisioning/reconcile.ts';
import { isReadAlready } from '../../domain/provisioning/stock.ts';
import type { Creations } from './creations.ts';
import { begin, providerNamed, type ProvisionDeps } from './deps.ts';
import type { RoundState } from './round.ts';

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
