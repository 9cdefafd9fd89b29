import type { Bmdb, BmdbSession, FleetRows, Lease } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Metrics } from '../../adapters/metrics/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { NotFound } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { IntentRow, Provided, ProviderMachine } from '../../domain/machine.ts';
import type { Finding } from '../../domain/provisioning/findings.ts';
import type { CreationOutcome } from '../../domain/provisioning/provider-tags.ts';
import type { Reconciliation } from '../../domain/provisioning/reconcile.ts';
import type { Target } from '../../domain/provisioning/replacement.ts';
import { traitsOf } from '../../domain/traits.ts';
import type { Leases } from '../leases.ts';
import type { HoldKeeper } from '../providers/holds.ts';
import type { DatedListing, Listings } from '../providers/listings.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { Creations } from './creations.ts';

/** Counts an ended creation. The row of an abandoned intent is no longer needed. */
export function countCreation(
  { metrics }: Pick<ProvisionDeps, 'metrics'>,
  provider: ProviderName,
  outcome: CreationOutcome,
): void {
  metrics.count('shepherd_provision_outcomes_total', { provider, outcome });
  if (outcome === 'abandoned') metrics.count('shepherd_janitor_removed_total', { kind: 'intent' });
}

export interface ProvisionDeps {
  readonly bmdb: Pick<Bmdb, 'requests' | 'events'>;
  readonly mirror: {
    /** All rows, from a read that begins after the call. */
    readFleet(signal: AbortSignal): Promise<FleetRows>;
    /** Open and unresolved intents, as of the last read; null before the first. */
    intents(): readonly IntentRow[] | null;
  };
  readonly keeper: SessionKeeper;
  readonly leases: Leases;
  readonly holds: HoldKeeper;
  readonly listings: Listings;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits: ProvisionLimits;
  /** Take over orphans. */
  readonly assimilate: boolean;
  /** Called with each iteration's decisions before they are carried out. */
  readonly onPlan?: (provider: ProviderName, plan: Reconciliation) => void;
}

export interface ProvisionLimits {
  /** Maximum number of managed machines per provider; 0: no limit. */
  readonly machinesMax: number;
  /** The limit of providers with a limit of their own. */
  readonly machinesMaxOf?: ReadonlyMap<ProviderName, number>;
  /** Providers that keep a number of machines in service. */
  readonly targetOf?: ReadonlyMap<ProviderName, Target>;
  /** Why a provider's replacements wait at this time; null: they do not. */
  readonly replacementBar?: (provider: ProviderName, nowMs: number) => string | null;
  /** Maximum number of creations per iteration. */
  readonly chunkSize: number;
  /** Time between the starts of two creations. */
  readonly creationGapMs: number;
  /** Maximum number of simultaneous creations. */
  readonly parallelism: number;
  /** Longest wait of a round before one more creation may begin. */
  readonly placeWaitMs: number;
  /** A creation ends after this long, whatever the provider does. */
  readonly creationMs: number;
  /** Penalty of a slot whose creation was refused. */
  readonly penaltyMs: number;
  /** An intent whose device never appears is forgotten after this long. */
  readonly abandonMs: number;
}

/** @throws {NotFound} the provider is not configured. */
export function providerNamed(
  { providers }: Pick<ProvisionDeps, 'providers'>,
  name: ProviderName,
): FleetProvider {
  const provider = providers.get(name);
  if (!provider) throw new NotFound(`no provider "${name}" is configured`);
  return provider;
}

/** The input of each step of an iteration. */
export interface Iteration {
  readonly deps: ProvisionDeps;
  readonly creations: Creations;
  readonly name: ProviderName;
  readonly provider: FleetProvider;
  readonly state: RoundState;
  /** The live session of the step. */
  readonly session: BmdbSession;
  /** Fires when the step or the session must end. */
  readonly ends: AbortSignal;
}

/** The BMDB's record of a device on a slot. */
export const providedBy = (
  provider: ProviderName,
  slotId: string,
  device: ProviderMachine,
): Provided => ({
  provider,
  providerId: device.id!,
  reservationId: device.reservationId ?? slotId,
  address: device.address,
  ...traitsOf(device),
  status: device.status,
});

/** A listing, and the rows of the BMDB. */
export interface Reading {
  readonly listing: DatedListing;
  readonly rows: FleetRows;
  /** Monotonic milliseconds after the read of the rows: not before the database time in them. */
  readonly atMs: number;
  /** The creations' mark at the start of the read. */
  readonly mark: number;
}

/** State of an iteration besides its chart, and memory between iterations. */
export interface RoundState {
  lease: Lease;
  /** Epoch of the lease under which unfinished creations were last resolved. */
  settledEpoch: Lease['epoch'] | null;
  /** Monotonic. */
  begunAtMs: number;
  /** The last reading. */
  read: Reading | null;
  plan: Reconciliation | null;
  findings: readonly Finding[];
  /** The last listing whose absences were counted: each listing counts once. */
  countedListingAtMs: number | null;
  /** Devices without a reference in the previous iteration. */
  orphansBefore: ReadonlySet<string>;
  readonly toldOrphans: Set<string>;
  isForeignTold: boolean;
  isOverLimitTold: boolean;
  isSurplusTold: boolean;
  /** Logged number of listed machines over the limit. */
  leftOutTold: number;
  breakerTold: string | null;
  /** When the requirements of creations were last prepared, monotonic ms; null: never. */
  preparedAtMs: number | null;
  /** When the next creation may begin, monotonic. */
  nextCreationAtMs: number;
}

/** The state before the first iteration. */
export const newRound = (): Omit<RoundState, 'lease' | 'begunAtMs' | 'plan'> => ({
  settledEpoch: null,
  read: null,
  findings: [],
  countedListingAtMs: null,
  orphansBefore: new Set(),
  toldOrphans: new Set(),
  isForeignTold: false,
  isOverLimitTold: false,
  isSurplusTold: false,
  leftOutTold: 0,
  breakerTold: null,
  preparedAtMs: null,
  nextCreationAtMs: -Infinity,
});
