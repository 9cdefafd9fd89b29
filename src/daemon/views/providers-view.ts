import { provisionerJob } from '../../actors/leases.ts';
import type { Mirror } from '../../actors/mirror/mirror.ts';
import type { ListingHealth } from '../../actors/providers/listing-health.ts';
import type { DatedListing, Listings } from '../../actors/providers/listings.ts';
import type { SessionKeeper } from '../../actors/session-keeper.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { heeding, type Metrics } from '../../adapters/metrics/port.ts';
import type { Capabilities, FleetProvider } from '../../adapters/provider/port.ts';
import { machinesMaxOf, mayEraseDisks, type Config } from '../../config.ts';
import type {
  ProvidersView,
  ProviderSummary,
  SlotClass,
  CallTimes,
} from '../../console/providers.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { Planner } from '../planning.ts';

export interface ProvidersViewDeps {
  readonly config: Config;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly listings: Pick<Listings, 'last'>;
  readonly health: Pick<ListingHealth, 'unlisted'>;
  readonly mirror: Pick<Mirror, 'leases' | 'providerHolds' | 'penalties' | 'intents' | 'nowMs'>;
  readonly keeper: Pick<SessionKeeper, 'current'>;
  readonly planner: Planner;
  readonly callTimes: ReturnType<typeof createCallTimes>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** The providers in the words of the console. No provider is asked for it. */
export function createProvidersView(deps: ProvidersViewDeps): ProvidersView {
  const { providers } = deps;
  const classes = classesOnce();
  const summaryOf = (provider: FleetProvider) => summary(deps, provider, classes);
  return {
    summaries: async () =>
      [...providers.values()].map(summaryOf).toSorted((a, b) => (a.provider < b.provider ? -1 : 1)),
    async summary(name) {
      const provider = providers.get(name as ProviderName);
      return provider ? summaryOf(provider) : null;
    },
  };
}

function summary(
  deps: ProvidersViewDeps,
  provider: FleetProvider,
  classes: (listing: DatedListing) => readonly SlotClass[],
): ProviderSummary {
  const { config, listings, health, mirror, keeper, planner, callTimes, clock } = deps;
  const { name, type, capabilities } = provider;
  const nowMs = mirror.nowMs();
  const listing = listings.last(name);
  const planned = planner.fresh(name);
  const max = machinesMaxOf(config, name);
  const unlisted = health.unlisted().find((each) => each.provider === name);
  const lease = mirror.leases().find((each) => each.held && each.name === provisionerJob(name));
  const isOwn = <Row extends { readonly provider: ProviderName }>(row: Row) =>
    row.provider === name;
  return {
    provider: name,
    driver: type,
    isInventory: provider.inventory !== undefined,
    can: abilities(capabilities),
    callsMax: capabilities.maxConcurrency,
    machinesMax: max === 0 ? null : max,
    mayEraseDisks: mayEraseDisks(config, provider),
    provisioner: lease
      ? { sessionId: lease.sessionId, isHere: lease.sessionId === keeper.current()?.sessionId }
      : null,
    listing: listing && {
      atMs: nowMs - (clock.monotonic() - listing.beganAtMs),
      complete: listing.complete,
      entries: listing.machines.length,
      unreadable: listing.unreadable?.length ?? 0,
    },
    unlisted: unlisted ? { sinceMs: unlisted.sinceMs, cause: unlisted.cause } : null,
    breaker: planned && { reason: planned.foresight.breaker, atMs: planned.atMs },
    classes: listing ? classes(listing) : [],
    holds: mirror
      .providerHolds()
      .filter((hold) => isOwn(hold) && hold.untilMs > nowMs)
      .toSorted((a, b) => b.untilMs - a.untilMs),
    shelf: mirror
      .penalties()
      .filter((penalty) => isOwn(penalty) && penalty.untilMs > nowMs)
      .toSorted((a, b) => a.untilMs - b.untilMs),
    unsettled: (mirror.intents() ?? [])
      .filter(isOwn)
      .toSorted((a, b) => a.createdAtMs - b.createdAtMs),
    calls: callTimes.of(name, nowMs),
  };
}

/** What a provider can do, in the words of its driver's abilities. */
export const abilities = ({ maxConcurrency: _, ...able }: Capabilities): string[] =>
  Object.entries(able)
    .filter(([, can]) => can)
    .map(([name]) => name);

/** Each listing is counted once, however many look at it. */
function classesOnce() {
  const counted = new WeakMap<DatedListing, readonly SlotClass[]>();
  return (listing: DatedListing): readonly SlotClass[] => {
    const known = counted.get(listing) ?? classesOf(listing);
    counted.set(listing, known);
    return known;
  };
}

function classesOf({ machines }: Pick<DatedListing, 'machines'>): readonly SlotClass[] {
  const found = new Map<string, { -readonly [Key in keyof SlotClass]: SlotClass[Key] }>();
  for (const { plan, location, availability, ownership } of machines) {
    const key = `${plan}\n${location ?? ''}`;
    const counts = found.get(key) ?? { plan, location, ...NONE };
    found.set(key, counts);
    if (availability === 'KnownUnused') counts.free += 1;
    else if (ownership === 'foreign') counts.foreign += 1;
    else if (availability === 'KnownUsed') counts.used += 1;
    else counts.unclear += 1;
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, counts]) => counts);
}

const NONE = { free: 0, used: 0, foreign: 0, unclear: 0 };

/** Calls of one kind whose times are remembered. */
const SAMPLES_MAX = 200;

interface Tally {
  calls: number;
  failed: number;
  /** Monotonic milliseconds. */
  lastAtMs: number;
  /** The latest ones, milliseconds, oldest first. */
  readonly times: number[];
}

/** How long calls of providers took, for whoever looks, beside what is exported. */
export function createCallTimes(clock: Pick<Clock, 'monotonic'>) {
  const tallies = new Map<string, Map<string, Tally>>();
  const tallyOf = (provider: string, operation: string): Tally => {
    const own = tallies.get(provider) ?? new Map<string, Tally>();
    tallies.set(provider, own);
    const tally = own.get(operation) ?? { calls: 0, failed: 0, lastAtMs: 0, times: [] };
    own.set(operation, tally);
    return tally;
  };
  return {
    /** The metrics; what they are told of calls is remembered. */
    heeding: (metrics: Metrics): Metrics =>
      heeding(metrics, ({ how, name, labels: { provider, operation, error }, value }) => {
        if (name === 'driver_operations' && error === '1' && value > 0) {
          tallyOf(provider!, operation!).failed += value;
        }
        if (name !== 'shepherd_driver_operation_seconds' || how !== 'observe') return;
        const tally = tallyOf(provider!, operation!);
        tally.calls += 1;
        tally.lastAtMs = clock.monotonic();
        tally.times.push(value * 1_000);
        if (tally.times.length > SAMPLES_MAX) tally.times.shift();
      }),
    /** By operation. @param nowMs database clock, epoch ms. */
    of: (provider: string, nowMs: number): readonly CallTimes[] =>
      [...(tallies.get(provider) ?? [])]
        .map(([operation, { times, lastAtMs, calls, failed }]) => ({
          ...{ operation, calls, failed },
          p50Ms: percentile(times, 50),
          p95Ms: percentile(times, 95),
          lastAtMs: Math.round(nowMs - (clock.monotonic() - lastAtMs)),
        }))
        .toSorted((a, b) => (a.operation < b.operation ? -1 : 1)),
  };
}

/** The smallest sample that so many percent of all do not exceed, whole milliseconds. */
function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.ceil((percent / 100) * sorted.length) - 1]!);
}
