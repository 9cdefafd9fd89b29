import { fromPromise } from 'xstate';
import { explain, isProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { createNews, type TellNews } from '../../adapters/log/port.ts';
import { facetsOf, throttleOf } from '../../domain/provisioning/provider-holds.ts';
import type { Listed, Round } from '../../machines/provisioner.ts';
import { provisionerJob } from '../leases.ts';
import { beginCreations, planRound } from './plan.ts';
import { createCreations, type Creations } from './creations.ts';
import { begin, newRound, type ProvisionDeps, type RoundState } from './deps.ts';
import { recordFindings, resolveIntents } from './record.ts';

/** What fills the `provisioner` chart, and the creations that outlive its iterations. */
export interface Provisioning {
  readonly services: ReturnType<typeof servicesOf>;
  /** One structured line for each iteration; of one like the last, only for whoever looks for a fault. */
  report(provider: ProviderName): void;
  /** Lets creations end by themselves for `graceMs`, then aborts and awaits them. */
  drain(graceMs: number): Promise<void>;
}

export function createProvisioning(deps: ProvisionDeps): Provisioning {
  const creations = createCreations(deps);
  const rounds = new Map<ProviderName, RoundState>();
  const tellNews = createNews(deps.log);
  return {
    services: servicesOf(deps, creations, rounds),
    report: (provider) =>
      reportRound(
        { clock: deps.clock, tellNews },
        rounds.get(provider),
        creations.takeTally(provider),
        provider,
      ),
    drain: creations.drain,
  };
}

function servicesOf(
  deps: ProvisionDeps,
  creations: ReturnType<typeof createCreations>,
  rounds: Map<ProviderName, RoundState>,
) {
  const roundOf = (provider: ProviderName) => {
    const found = rounds.get(provider);
    if (!found) throw new Error(`no iteration of ${provider} was begun`);
    return found;
  };
  return {
    takeLease: fromPromise<void, Round>(async ({ input: { provider }, signal }) => {
      const { ends } = begin(deps, signal);
      const lease = await deps.leases.take(provisionerJob(provider), ends);
      const round = rounds.get(provider) ?? newRound(lease);
      round.lease = lease;
      round.begunAtMs = deps.clock.monotonic();
      round.plan = null;
      rounds.set(provider, round);
    }),

    resolveIntents: fromPromise<void, Round>(async ({ input: { provider }, signal }) => {
      const under = begin(deps, signal);
      // Nothing can be planned, so the provider is not asked.
      if (throttleOf(deps.holds.holds(provider), 'list', deps.nowMs())) return;
      const round = roundOf(provider);
      const isJobNew = round.settledEpoch !== round.lease.epoch;
      await resolveIntents(deps, creations, provider, { ...under, isJobNew });
      round.settledEpoch = round.lease.epoch;
    }),

    listBoth: fromPromise<Listed, Round>(({ input: { provider }, signal }) =>
      listBoth(deps, creations, roundOf(provider), provider, signal),
    ),

    planRound: fromPromise<number, Round>(({ input: { provider }, signal }) =>
      planRound(deps, creations, roundOf(provider), provider, signal),
    ),

    recordFindings: fromPromise<void, Round>(({ input: { provider }, signal }) =>
      recordFindings(deps, roundOf(provider), provider, signal),
    ),

    beginCreations: fromPromise<void, Round>(({ input: { provider }, signal }) =>
      beginCreations(deps, creations, roundOf(provider), provider, signal),
    ),
  };
}

/** A provider that refuses our credentials is asked again after so long. */
const REFUSED_MS = 60_000;

/** Lists provider and BMDB at once, for the round; the first failure aborts the other. */
async function listBoth(
  deps: ProvisionDeps,
  creations: Pick<Creations, 'mark'>,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<Listed> {
  const { ends } = begin(deps, signal);
  const failing = new AbortController();
  const both = AbortSignal.any([ends, failing.signal]);
  const mark = creations.mark();
  state.read = null;
  try {
    const [listing, { rows, atMs }] = await Promise.all([
      deps.listings.list(provider, both),
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

/** How long the provider is not to be asked, milliseconds; null: the error does not tell. */
function pauseAfter(error: unknown, clockMs: number): number | null {
  const { retryAtMs } = facetsOf(error);
  if (retryAtMs !== null && retryAtMs > clockMs) return retryAtMs - clockMs;
  return isProviderError(error, 'auth') ? REFUSED_MS : null;
}

/** The iteration's summary, with the fields that the operators' documents name. */
function reportRound(
  { tellNews, clock }: Pick<ProvisionDeps, 'clock'> & { readonly tellNews: TellNews },
  round: RoundState | undefined,
  tally: { readonly created: number; readonly failed: number },
  provider: ProviderName,
): void {
  if (!round?.plan) return;
  const { bmdb, used, free, failed, orphan, missing, penalised, managed, max } = round.plan.summary;
  const duration = Math.round(clock.monotonic() - round.begunAtMs) / 1_000;
  const counts = { bmdb, used, free, failed, orphan, missing, penalised, managed, max };
  const ended = { created: tally.created, create_failed: tally.failed };
  tellNews(provider, { provider, ...counts, ...ended }, 'provisioner iteration', { duration });
  // This is a copy of the whole fleet, and is not needed any more.
  round.read = null;
  round.plan = null;
  round.findings = [];
}
