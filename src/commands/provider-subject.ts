import type { Clock, Random } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { silentMetrics } from '../adapters/metrics/port.ts';
import { createMemoryRecords } from '../adapters/driver-kit/stand-ins.ts';
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
  /** A configured provider's name; or a driver's, where one provider has it. */
  readonly wanted: string;
  readonly setId: string;
  /** Operating system instead of the configured one. */
  readonly image: string | null;
  /** Mark of this process, as the value of a tag on whatever it makes. */
  readonly tester: string;
  /** OpenSSH line. */
  readonly publicKey: string;
  /** Of earlier keys; none when absent. */
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
 * A configured provider as the conformance test takes it: with an instance set of its own instead of
 * the fleet's.
 * @throws {UsageError} there is no such provider, or its section has mistakes; or `setId` is the
 *   one of a provider in the configuration, whose machines the test would take for its own.
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
  // One memory for all instances of the driver: a second one has to find what the first one kept.
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
      // What is about no machine is no claim: a count of calls, for instance.
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

/** Records in memory that can be made to fail, as a database does that is away. */
function createTestRecords(random: Random) {
  const kept = createMemoryRecords(random);
  let isAway = false;
  const unlessAway = <T>(write: () => Promise<T>): Promise<T> =>
    isAway
      ? Promise.reject(new ProviderError('transient', 'the test lets nothing be put on record'))
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
      `the instance set ${setId} is the one of provider ${name}: the test would take its machines ` +
        'for its own; give another one with --set-id',
    );
  }
}

const watchedDriver = (driver: Driver, watch: Parameters<Subject['open']>[0]): Driver => ({
  ...driver,
  open: (settings, context) => checkedProvider(driver.name, watch(driver.open(settings, context))),
});
