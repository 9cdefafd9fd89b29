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
import { traitsOf } from '../../domain/traits.ts';
import type { Leases } from '../leases.ts';
import type { HoldKeeper } from '../providers/holds.ts';
import type { DatedListing, Listings } from '../providers/listings.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { Creations } from './creations.ts';

/** A creation came to an end. An intent that was given up is a row that nobody needs any more. */
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
    /** All rows, as of a read that begins after the call. */
    readFleet(signal: AbortSignal): Promise<FleetRows>;
    /** Open and unresolved ones, as of the last read; null before the first. */
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
  /** Take over devices that nothing refers to. */
  readonly assimilate: boolean;
  /** Told of what each iteration decides, before it is carried out. */
  readonly onPlan?: (provider: ProviderName, plan: Reconciliation) => void;
}

export interface ProvisionLimits {
  /** Most managed machines per provider; 0: no limit. */
  readonly machinesMax: number;
  /** The same for providers that have a limit of their own. */
  readonly machinesMaxOf?: ReadonlyMap<ProviderName, number>;
  /** Creations per iteration at most. */
  readonly chunkSize: number;
  /** Time between the starts of two creations. */
  readonly creationGapMs: number;
  /** Most creations at the same time. */
  readonly parallelism: number;
  /** A round waits at most so long until one more creation may begin. */
  readonly placeWaitMs: number;
  /** A creation ends after so long, whatever the provider does. */
  readonly creationMs: number;
  /** How long a slot rests whose creation was refused. */
  readonly penaltyMs: number;
  /** An intent whose device was never seen is forgotten after this long. */
  readonly abandonMs: number;
}

/** @throws {NotFound} it is not configured. */
export function providerNamed(
  { providers }: Pick<ProvisionDeps, 'providers'>,
  name: ProviderName,
): FleetProvider {
  const provider = providers.get(name);
  if (!provider) throw new NotFound(`no provider "${name}" is configured`);
  return provider;
}

/** What each step of an iteration is given. */
export interface Iteration {
  readonly deps: ProvisionDeps;
  readonly creations: Creations;
  readonly name: ProviderName;
  readonly provider: FleetProvider;
  readonly state: RoundState;
  /** It lives, and the step works under it. */
  readonly session: BmdbSession;
  /** Fires when the step is to end, or the session ends. */
  readonly ends: AbortSignal;
}

/** What the BMDB records of a device on a slot. */
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
  /** Monotonic milliseconds at which the rows had been read: not before the database time in them. */
  readonly atMs: number;
  /** The mark of the creations at which reading the rows began. */
  readonly mark: number;
}

/** What an iteration knows beside its chart, and what is remembered from one to the next. */
export interface RoundState {
  lease: Lease;
  /** Of the lease under which unfinished creations were resolved last. */
  settledEpoch: Lease['epoch'] | null;
  /** Monotonic. */
  begunAtMs: number;
  /** What was read last. */
  read: Reading | null;
  plan: Reconciliation | null;
  findings: readonly Finding[];
  /** The listing whose absences were counted last: each listing counts once. */
  countedListingAtMs: number | null;
  /** Devices that nothing referred to in the iteration before. */
  orphansBefore: ReadonlySet<string>;
  readonly toldOrphans: Set<string>;
  isForeignTold: boolean;
  isOverLimitTold: boolean;
  /** How many listed machines were over the limit when that was logged last. */
  leftOutTold: number;
  breakerTold: string | null;
  /** Monotonic milliseconds at which all that creations need was last put in place; null: never. */
  preparedAtMs: number | null;
  /** When the next creation may begin, monotonic. */
  nextCreationAtMs: number;
}

/** Before the first iteration. */
export const newRound = (): Omit<RoundState, 'lease' | 'begunAtMs' | 'plan'> => ({
  settledEpoch: null,
  read: null,
  findings: [],
  countedListingAtMs: null,
  orphansBefore: new Set(),
  toldOrphans: new Set(),
  isForeignTold: false,
  isOverLimitTold: false,
  leftOutTold: 0,
  breakerTold: null,
  preparedAtMs: null,
  nextCreationAtMs: -Infinity,
});
