import { createLeases } from '../../src/actors/provisioning/leases.ts';
import { createListingHealth } from '../../src/actors/providers/listing-health.ts';
import { createListings } from '../../src/actors/providers/listings.ts';
import type { DeprovisionDeps } from '../../src/actors/tasks/deprovision.ts';
import { createHoldKeeper } from '../../src/actors/providers/holds.ts';
import type { ProvisionDeps, ProvisionLimits } from '../../src/actors/provisioning/deps.ts';
import type { SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { TaskDeps } from '../../src/actors/tasks/task.ts';
import type { UpdaterDeps } from '../../src/actors/provisioning/updater.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import type { Metrics } from '../../src/adapters/metrics/port.ts';
import type { FleetProvider } from '../../src/adapters/provider/port.ts';
import type { ProviderName, Slot } from '../../src/domain/ids.ts';
import type { ProviderHoldRow, SlotFacts } from '../../src/domain/machine.ts';

export const HOUR_MS = 3_600_000;
export const LIMITS: ProvisionLimits = {
  machinesMax: 0,
  chunkSize: 20,
  creationGapMs: 5_000,
  parallelism: 3,
  placeWaitMs: 60_000,
  creationMs: 900_000,
  penaltyMs: HOUR_MS,
  abandonMs: HOUR_MS,
};

export interface ProvisionWorld {
  readonly bmdb: Bmdb;
  readonly keeper: SessionKeeper;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: Partial<ProvisionLimits>;
  readonly assimilate?: boolean;
  /** What a mirror would know; nothing when absent. */
  readonly holdRows?: () => readonly ProviderHoldRow[];
  readonly facts?: () => ReadonlyMap<Slot, SlotFacts>;
  readonly nowMs?: () => number;
  /** Of listings; each is made anew when absent. */
  readonly maxAgeMs?: number;
}

/** What provisioner, updater and deprovision need of each other. */
export function provisionParts(world: ProvisionWorld) {
  const { bmdb, keeper, providers, clock, random, log, metrics } = world;
  const nowMs = world.nowMs ?? clock.now;
  const holds = createHoldKeeper({
    book: bmdb.providerHolds,
    rows: world.holdRows ?? (() => []),
    nowMs,
    clock,
    log,
  });
  const { maxAgeMs = 0 } = world;
  const health = createListingHealth({
    book: bmdb.listings,
    keeper,
    nowMs,
    log,
    onChange: () => undefined,
  });
  const listings = createListings({ providers, holds, health, nowMs, clock, maxAgeMs });
  const leases = createLeases({ keeper, clock, random, log, retryMs: 3_000 });
  const provision: ProvisionDeps = {
    bmdb,
    keeper,
    leases,
    holds,
    listings,
    providers,
    clock,
    log,
    metrics,
    nowMs,
    limits: { ...LIMITS, ...world.limits },
    assimilate: world.assimilate ?? false,
  };
  const update: UpdaterDeps = {
    keeper,
    leases,
    listings,
    holds,
    providers,
    nowMs,
    clock,
    random,
    log,
    facts: world.facts ?? (() => new Map()),
  };
  const deprovision = (tasks: TaskDeps): DeprovisionDeps => ({
    ...tasks,
    random,
    holds,
    nowMs,
    pollMs: 10_000,
    agentPath: '/root/agent',
  });
  return { holds, listings, leases, provision, update, deprovision };
}
