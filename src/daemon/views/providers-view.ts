import type { DatedListing } from '../../actors/providers/listings.ts';
import { provisionerJob } from '../../actors/leases.ts';
import type { Capabilities, FleetProvider } from '../../adapters/provider/port.ts';
import { machinesMaxOf, mayEraseDisks } from '../../config.ts';
import type { ProvidersView, ProviderSummary, SlotClass } from '../../console/views.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { DaemonParts } from '../parts.ts';

/** The console's view of providers. Calls no provider. */
export function createProvidersView(parts: DaemonParts): ProvidersView {
  const { providers } = parts;
  const classes = classesOnce();
  const summaryOf = async (provider: FleetProvider) => {
    const found = summary(parts, provider, classes);
    return { ...found, unlisted: found.unlisted ?? (await unlistedElsewhere(parts, provider)) };
  };
  return {
    summaries: async () => {
      const found = await Promise.all([...providers.values()].map(summaryOf));
      return found.toSorted((a, b) => (a.provider < b.provider ? -1 : 1));
    },
    async summary(name) {
      const provider = providers.get(name as ProviderName);
      return provider ? summaryOf(provider) : null;
    },
  };
}

/** Other daemons' records; empty while the database does not answer. */
async function unlistedElsewhere({ bmdb }: DaemonParts, { name }: FleetProvider) {
  const all = await bmdb.listings.unlisted(new AbortController().signal).catch(() => []);
  const [first, ...others] = all
    .filter(({ provider }) => provider === name)
    .toSorted((a, b) => a.sinceMs - b.sinceMs);
  if (first === undefined) return null;
  const daemons = others.length === 0 ? 'another daemon' : `${others.length + 1} other daemons`;
  return { sinceMs: Math.round(first.sinceMs), cause: `to ${daemons}: ${first.cause}` };
}

function summary(
  parts: DaemonParts,
  provider: FleetProvider,
  classes: (listing: DatedListing) => readonly SlotClass[],
): ProviderSummary {
  const { config, listings, health, mirror, keeper, planner, callTimes, clock } = parts;
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
    target: config.providers[name]?.target ?? null,
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

/** A provider's capabilities, as its driver names them. */
export const abilities = ({ maxConcurrency: _, ...able }: Capabilities): string[] =>
  Object.entries(able)
    .filter(([, can]) => can)
    .map(([name]) => name);

/** Counts each listing once for all readers. */
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
