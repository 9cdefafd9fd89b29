import type { Clock, Random } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { silentMetrics } from '../adapters/metrics/port.ts';
import { createMemoryRecords } from '../adapters/driver-kit/memory-shell.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { Driver, DriverShell, Records } from '../adapters/provider/port.ts';
import { hostKeyPolicyOf } from '../config/provider-schema.ts';
import type { ProvidersOnly, Section } from '../config/providers-only.ts';
import { checkedProvider } from '../conformance/checked-provider.ts';
import type { Subject } from '../conformance/subject.ts';
import { openProvider } from '../daemon/providers.ts';
import { ProviderError, UsageError } from '../domain/errors.ts';
import { byNameOrDriver } from './driver-test.ts';
import { type ProviderName, providerName } from '../domain/ids.ts';
import type { ProviderRecord } from '../domain/provisioning/records.ts';

export interface SubjectOptions {
  readonly config: ProvidersOnly;
  /** Name of a configured provider, or of a driver that only one provider has. */
  readonly wanted: string;
  readonly setId: string;
  /** Operating system instead of the configured one. */
  readonly image: string | null;
  /** Value of the tag that marks everything this process creates. */
  readonly tester: string;
  /** A line of OpenSSH's authorized_keys. */
  readonly publicKey: string;
  /** Lines of earlier keys. */
  readonly previousKeys?: readonly string[];
  readonly version: string;
  readonly drivers?: ReadonlyMap<string, Driver>;
}
export interface SubjectMeans {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** SSH for the driver; none when absent. */
  readonly driverShell?: DriverShell;
}

const TESTER_TAG = 'conformance-test';

/**
 * Opens a configured provider for the conformance test, with the instance set of the test instead of the
 * instance set of the fleet.
 * @throws {UsageError} no provider matches, its section has mistakes, or a configured provider has
 * the instance set `setId`.
 */
export function createSubject(options: SubjectOptions, means: SubjectMeans): Subject {
  const { config, wanted, setId, image, tester, publicKey, version } = options;
  const drivers = options.drivers ?? DRIVERS;
  refuseFleetsOwn(config, setId);
  const [name, written] = byNameOrDriver('provider', wanted, [...config.sections]);
  const tags = { ...(written['sharedTags'] as object | undefined), [TESTER_TAG]: tester };
  const section: Section = {
    ...written,
    instanceSetId: setId,
    sharedTags: tags,
    ...(image !== null && { image }),
  };
  const settings = config.settingsOf(name, section);
  const { sharedTags, driver } = settings;
  // All instances of the driver share their records: a second instance must find those of the first.
  const { records, kept, withoutRecords } = createTestRecords(means.random);
  return {
    name,
    driver,
    setId,
    publicKey,
    sharedTags,
    section,
    hostKeyPolicy: hostKeyPolicyOf(settings, options.drivers),
    mistakesOf: (changed) => config.faultsOf(name, changed),
    async claims(names, signal) {
      const all = await kept(providerName(name)).all({ signal });
      // A record that names no machine, such as a count of calls, is no claim.
      const isClaim = ({ key, value }: ProviderRecord) => {
        const text = JSON.stringify(value);
        return names.some((each) => key === each || text.includes(JSON.stringify(each)));
      };
      return all.filter(isClaim).map(({ key }) => key);
    },
    withoutRecords,
    async open(watch) {
      const watched = new Map([[driver, watchedDriver(drivers.get(driver)!, watch)]]);
      const all = {
        ...means,
        metrics: silentMetrics,
        version,
        publicKey,
        previousKeys: options.previousKeys,
        records,
        drivers: watched,
      };
      const { driven, provider } = openProvider(providerName(name), settings, all);
      return { raw: driven, fleet: provider };
    },
  };
}

/** Records in memory that can fail on demand, as they do when the database is away. */
function createTestRecords(random: Random) {
  const kept = createMemoryRecords(random);
  let isAway = false;
  const unlessAway = <T>(write: () => Promise<T>): Promise<T> =>
    isAway
      ? Promise.reject(new ProviderError('transient', 'the test makes all writes of records fail'))
      : write();
  const records = (provider: ProviderName): Records => {
    const { all, make, replace, drop } = kept(provider);
    return {
      all,
      make: (...args) => unlessAway(() => make(...args)),
      replace: (...args) => unlessAway(() => replace(...args)),
      drop: (...args) => unlessAway(() => drop(...args)),
    };
  };
  const withoutRecords = async <T>(work: () => Promise<T>): Promise<T> => {
    isAway = true;
    try {
      return await work();
    } finally {
      isAway = false;
    }
  };
  return { records, kept, withoutRecords };
}

function refuseFleetsOwn({ sections }: ProvidersOnly, setId: string): void {
  for (const [name, { instanceSetId }] of sections) {
    const own = typeof instanceSetId === 'string' ? instanceSetId.trim().toLowerCase() : '';
    if (own !== setId.toLowerCase()) continue;
    throw new UsageError(
      `the instance set ${setId} belongs to provider ${name}, so the test would treat its machines ` +
        'as its own; give another set with --set-id',
    );
  }
}

const watchedDriver = (driver: Driver, watch: Parameters<Subject['open']>[0]): Driver => ({
  ...driver,
  open: (settings, context) => checkedProvider(driver.name, watch(driver.open(settings, context))),
});
