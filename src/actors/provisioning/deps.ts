import type { Bmdb, BmdbSession, FleetRows } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Metrics } from '../../adapters/metrics/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { NotFound } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { IntentRow, Provided, ProviderMachine } from '../../domain/machine.ts';
import type { CreationOutcome } from '../../domain/provisioning/creation-end.ts';
import type { Reconciliation } from '../../domain/provisioning/reconcile.ts';
import { traitsOf } from '../../domain/traits.ts';
import type { Leases } from '../leases.ts';
import type { Listings } from '../providers/listings.ts';
import type { HoldKeeper } from '../providers/holds.ts';
import type { SessionKeeper } from '../session-keeper.ts';

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

/** A living session, and the signal of a step that works under it. @throws {SessionExpired} */
export function begin(
  { keeper }: Pick<ProvisionDeps, 'keeper'>,
  signal: AbortSignal,
): { readonly session: BmdbSession; readonly ends: AbortSignal } {
  const session = keeper.require();
  return { session, ends: AbortSignal.any([signal, session.signal]) };
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
