import { createReadRecords } from '../../actors/providers/records.ts';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { silentLog } from '../../adapters/log/port.ts';
import { silentMetrics } from '../../adapters/metrics/port.ts';
import type { FleetProvider, Records } from '../../adapters/provider/port.ts';
import { publicBlob } from '../../adapters/ssh/key-file.ts';
import type { Config } from '../../config.ts';
import { DRIVERS } from '../../adapters/provider/drivers.ts';
import { openProvider } from '../../daemon/providers.ts';
import { UsageError } from '../../domain/errors.ts';
import { providerName, type ProviderName } from '../../domain/ids.ts';
import { withDatabase } from '../database.ts';
import { printable } from '../text-table.ts';
import type { DatabaseOptions } from '../db.ts';

export interface ReadOptions extends DatabaseOptions {
  /** Only this one; all configured ones when absent. */
  readonly provider?: string | undefined;
  readonly json: boolean;
  readonly version: string;
  /** Gives up: an interrupt. */
  readonly signal: AbortSignal;
}

/** What a command reads from: the database, and the providers it is about. */
export interface OpenProviders {
  readonly config: Config;
  readonly bmdb: Bmdb;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
}

/**
 * Opens database and providers for reading only: no session, no key made, nothing put in place.
 * @throws {UsageError} the configuration is wrong, or there is no such provider.
 */
export async function withProviders<T>(
  options: ReadOptions,
  task: (open: OpenProviders) => Promise<T>,
): Promise<T> {
  return withDatabase(options, async (bmdb, config) => {
    const records = (name: ProviderName) => createReadRecords(name, bmdb);
    const providers = openAll(config, { ...options, publicKey: NO_KEY, records });
    try {
      return await task({ config, bmdb, providers });
    } finally {
      await Promise.all([...providers.values()].map((provider) => provider.stop()));
    }
  });
}

/** Which providers to open, and as whom. */
interface Opening {
  /** Only this one; all configured ones when absent. */
  readonly provider?: string | undefined;
  readonly version: string;
  /** OpenSSH line of our key. */
  readonly publicKey: string;
  /** Of the earlier ones; none when absent. */
  readonly previousKeys?: readonly string[];
  /** What its driver keeps. */
  readonly records: (provider: ProviderName) => Records;
}

/**
 * Opens configured providers; makes no call yet.
 * @throws {UsageError} there is no such provider.
 */
export function openAll(
  config: Config,
  { provider: wanted, version, publicKey, previousKeys, records }: Opening,
): ReadonlyMap<ProviderName, FleetProvider> {
  const names = Object.keys(config.providers);
  if (wanted !== undefined && !names.includes(wanted)) {
    throw new UsageError(`no provider is named ${printable(wanted)}; there is ${names.join(', ')}`);
  }
  const means = {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    metrics: silentMetrics,
    version,
    publicKey,
    previousKeys,
    records,
    drivers: DRIVERS,
  };
  return new Map(
    Object.entries(config.providers)
      .filter(([name]) => wanted === undefined || name === wanted)
      .map(([name, settings]) => {
        const known = providerName(name);
        return [known, openProvider(known, settings, means).provider] as const;
      }),
  );
}

/** Drivers want a key for what they create; here nothing is created. */
export const NO_KEY = `ssh-ed25519 ${publicBlob(Buffer.alloc(32)).toString('base64')} none`;
