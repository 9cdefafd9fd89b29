import type { Listings } from '../actors/providers/listings.ts';
import type { Mirror } from '../actors/mirror/mirror.ts';
import type { FleetRows } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { FleetProvider, Listing } from '../adapters/provider/port.ts';
import { machinesMaxOf, targetOf, windowsOf, type Config } from '../config.ts';
import type { ProviderName } from '../domain/ids.ts';
import { foresightOf, type Foresight } from '../domain/provisioning/foresight.ts';
import { isSelected } from '../domain/balancing/pools.ts';
import type { SlotFacts } from '../domain/machine.ts';
import { windowRefusal, type MaintenanceWindow } from '../domain/windows.ts';
import type { DaemonParts } from './parts.ts';
import { reconcile, type Reconciliation } from '../domain/provisioning/reconcile.ts';

/** Why replacements of a provider wait: a window of the whole provider is closed. */
export const replacementBar =
  (windows: readonly MaintenanceWindow[]) =>
  (provider: ProviderName, nowMs: number): string | null =>
    windowRefusal(windows, { provider, location: null, pools: [] }, nowMs);

/** Why planned work on the machine waits for a window; null: it does not. */
export function windowBar({
  config,
  mirror,
  pools,
}: Pick<DaemonParts, 'config' | 'mirror' | 'pools'>) {
  const windows = windowsOf(config);
  return (provider: ProviderName, { row, listed }: Partial<SlotFacts>): string | null => {
    const location = row?.provided?.location ?? listed?.location ?? null;
    const machine = { provider, location, listed: listed ?? null };
    const own = pools.filter(({ select }) => isSelected(select, machine) !== false);
    const place = { provider, location, pools: own.map(({ pool }) => pool) };
    return windowRefusal(windows, place, mirror.nowMs());
  };
}

/** The provisioner's plan from the last listing, without work under way. */
export function provisioningPlan(
  config: Config,
  provider: FleetProvider,
  read: Listing & { readonly rows: FleetRows; readonly listedAtMs?: number },
): Reconciliation {
  const { reservationChunkSize, assimilate } = config.provisioner;
  return reconcile({
    ...read.rows,
    ...(read.listedAtMs !== undefined && { listedAtMs: read.listedAtMs }),
    provider: provider.name,
    listed: read.machines,
    listingComplete: read.complete,
    unreadable: read.unreadable ?? [],
    machinesMax: machinesMaxOf(config, provider.name),
    target: targetOf(config, provider.name),
    replacementBar: replacementBar(windowsOf(config))(provider.name, read.rows.nowMs),
    chunkSize: provider.inventory ? Infinity : reservationChunkSize,
    assimilate,
    canCreate: provider.capabilities.create,
    groupOf: provider.capacityGroup,
  });
}

/** A foresight and its time, epoch ms of the database clock. */
export interface Planned {
  readonly atMs: number;
  readonly foresight: Foresight;
}

/** Records the plans of this daemon's provisioners, and predicts those of other daemons. */
export interface Planner {
  /** Records a plan of an iteration here. */
  take(provider: ProviderName, plan: Reconciliation): void;
  /** The last plan from any source; null: none yet. */
  known(provider: ProviderName): Planned | null;
  /** A fresh plan from memory; null: the provider was not listed yet. */
  fresh(provider: ProviderName): Planned | null;
}

export interface PlannerDeps {
  readonly config: Config;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly listings: Pick<Listings, 'last'>;
  readonly mirror: Pick<Mirror, 'known' | 'nowMs'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A plan made for a reader serves all readers for this long: it costs a pass over the fleet. */
const LOOK_MS = 10_000;

export function createPlanner({
  config,
  providers,
  listings,
  mirror,
  clock,
}: PlannerDeps): Planner {
  const plans = new Map<ProviderName, Planned & { readonly goodUntilMs: number }>();
  const keep = (provider: ProviderName, plan: Reconciliation, forMs: number): Planned => {
    const made = {
      atMs: mirror.nowMs(),
      foresight: foresightOf(plan),
      goodUntilMs: clock.monotonic() + forMs,
    };
    plans.set(provider, made);
    return made;
  };
  return {
    // Valid until about the next iteration, which knows more than a prediction.
    take: (provider, plan) => void keep(provider, plan, 2 * config.provisioner.reconcilerRate),
    known: (provider) => plans.get(provider) ?? null,
    fresh(name) {
      const before = plans.get(name);
      if (before && clock.monotonic() < before.goodUntilMs) return before;
      const provider = providers.get(name);
      const listing = listings.last(name);
      const rows = mirror.known();
      if (!provider || !listing || !rows) return null;
      const listedAtMs = rows.nowMs - (clock.monotonic() - listing.beganAtMs);
      return keep(
        name,
        provisioningPlan(config, provider, { ...listing, rows, listedAtMs }),
        LOOK_MS,
      );
    },
  };
}
