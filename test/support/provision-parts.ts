import { createListingHealth, createListings } from '../../src/actors/providers/listings.ts';
import { createHoldKeeper } from '../../src/actors/providers/holds.ts';
import type { ProvisionDeps, ProvisionLimits } from '../../src/actors/provisioning/deps.ts';
import { createLeases } from '../../src/actors/leases.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import type { ProviderHoldRow } from '../../src/domain/machine.ts';

export const HOUR_MS = 3_600_000;
const LIMITS: ProvisionLimits = {
  machinesMax: 0,
  chunkSize: 20,
  creationGapMs: 5_000,
  parallelism: 3,
  placeWaitMs: 60_000,
  creationMs: 900_000,
  penaltyMs: HOUR_MS,
  abandonMs: HOUR_MS,
};

type GivenDeps = 'keeper' | 'providers' | 'clock' | 'log' | 'metrics' | 'assimilate';
export interface ProvisionWorld extends Pick<ProvisionDeps, GivenDeps> {
  readonly bmdb: Bmdb;
  readonly random: Random;
  readonly limits: Partial<ProvisionLimits>;
  /** As a mirror would know them. */
  readonly holdRows: () => readonly ProviderHoldRow[];
}

/** What a provisioner needs, without the rest of a daemon. */
export function provisionParts({ random, limits, holdRows, ...world }: ProvisionWorld) {
  const { bmdb, keeper, providers, clock, log } = world;
  const nowMs = clock.now;
  const holds = createHoldKeeper({
    repository: bmdb.providerHolds,
    rows: holdRows,
    nowMs,
    clock,
    log,
  });
  const health = createListingHealth({
    repository: bmdb.listings,
    keeper,
    nowMs,
    log,
    onChange: () => undefined,
  });
  // Each listing is fetched anew.
  const listings = createListings({ providers, holds, health, nowMs, clock, maxAgeMs: 0 });
  const leases = createLeases({ keeper, holderOf: () => null, clock, random, log, retryMs: 3_000 });
  // Each round reads everything.
  const mirror = { readFleet: (signal: AbortSignal) => bmdb.scan(signal), intents: () => null };
  const all = { ...world, mirror, leases, holds, listings, nowMs };
  const provision: ProvisionDeps = { ...all, limits: { ...LIMITS, ...limits } };
  return { leases, listings, provision };
}
