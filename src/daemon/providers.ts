import type { EventRepository } from '../adapters/bmdb/events-port.ts';
import { createUnderWay } from '../adapters/driver-kit/calls.ts';
import { createFleetProvider } from '../adapters/driver-kit/fleet-provider.ts';
import { secretsOfSettings } from '../adapters/driver-kit/redaction.ts';
import { NO_SHELL } from '../adapters/driver-kit/memory-shell.ts';
import type {
  Driver,
  DriverShell,
  FleetProvider,
  Provider,
  Records,
} from '../adapters/provider/port.ts';
import { ownSettingsOf, type ProviderConfig } from '../config.ts';
import { explain, UsageError } from '../domain/errors.ts';
import { providerName, type ProviderName } from '../domain/ids.ts';
import type { DriverMeans, Means, OurKeyLines } from './ports.ts';

/** Inputs to open a provider. */
export interface ProviderMeans extends DriverMeans {
  /** OpenSSH line of the key for new machines; may change, so it is read at each use. */
  readonly publicKey: string;
  /** OpenSSH lines of our earlier keys; absent: none. They may change, too. */
  readonly previousKeys?: readonly string[] | undefined;
  /** Live daemons that share the call budget; absent: one. */
  readonly daemons?: () => number;
  /** Records of a configured provider's driver. */
  readonly records: (provider: ProviderName) => Records;
  /** Where drivers write events; absent: nowhere. */
  readonly events?: Pick<EventRepository, 'append'> | undefined;
  /** SSH for drivers; absent: none. */
  readonly driverShell?: DriverShell;
  /** By the value of `driver:` in a configuration. */
  readonly drivers: ReadonlyMap<string, Driver>;
}

/** A configured provider: its driver directly, and through the core. */
export interface OpenedProvider {
  readonly driven: Provider;
  readonly provider: FleetProvider;
}

/**
 * Opens one configured provider; makes no call yet.
 * @throws {UsageError} contradictory settings, or a contradictory driver.
 */
export function openProvider(
  name: ProviderName,
  settings: ProviderConfig,
  means: ProviderMeans,
): OpenedProvider {
  const driver = means.drivers.get(settings.driver);
  if (!driver) throw new UsageError(`provider ${name}: there is no driver ${settings.driver}`);
  const { clock, random, metrics, version, daemons = () => 1 } = means;
  const { instanceSetId, sharedTags, image = null, initCommand, callsPerSecond } = settings;
  const log = means.log.child({ component: `provider ${name}` });
  const shared = { clock, random, log, metrics, daemons };
  const underWay = createUnderWay();
  const driven = driver.open(ownSettingsOf(settings), {
    ...shared,
    name,
    instanceSetId,
    get publicKey() {
      return means.publicKey;
    },
    get previousKeys() {
      return means.previousKeys ?? [];
    },
    tellEvent(event) {
      means.events
        ?.append({ ...event, provider: name, actor: 'shepherd' })
        .catch((error: unknown) =>
          log.warn({ cause: explain(error) }, `the event ${event.type} could not be written`),
        );
    },
    records: means.records(name),
    shell: means.driverShell ?? NO_SHELL,
    userAgent: `shepherd/${version}`,
    waitsForTurn: underWay.waitsForTurn,
  });
  const options = {
    name,
    type: driver.name,
    instanceSetId,
    sharedTags,
    image,
    initCommand: initCommand?.read() ?? '',
    get publicKey() {
      return means.publicKey;
    },
    callsPerSecond,
    secrets: secretsOfSettings(settings),
  };
  return { driven, provider: createFleetProvider(driven, options, { ...shared, underWay }) };
}

/** Inputs that a daemon's providers share. */
export interface ProvidersMeans extends Required<
  Pick<ProviderMeans, 'drivers' | 'daemons' | 'records' | 'driverShell'>
> {
  readonly events?: ProviderMeans['events'];
  readonly keys: OurKeyLines;
}

/** All configured providers, by name. */
export function openProviders(
  { config, closer, ...means }: Means,
  { keys, ...shared }: ProvidersMeans,
): Map<ProviderName, FleetProvider> {
  const providers = new Map<ProviderName, FleetProvider>();
  for (const [text, settings] of Object.entries(config.providers)) {
    const name = providerName(text);
    const { provider } = openProvider(name, settings, {
      ...means,
      ...shared,
      get publicKey() {
        return keys.publicLine;
      },
      get previousKeys() {
        return keys.previousLines;
      },
    });
    closer.add(`provider ${name}`, () => provider.stop());
    providers.set(name, provider);
  }
  return providers;
}
