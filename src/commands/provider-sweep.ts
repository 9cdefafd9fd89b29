import { existsSync } from 'node:fs';
import { createReadRecords } from '../actors/providers/records.ts';
import type { RecordStore, Bmdb, BmdbSession } from '../adapters/bmdb/port.ts';
import type { SweepReport } from '../adapters/provider/port.ts';
import { loadSshKey } from '../adapters/ssh/key-file.ts';
import { loadConfig, type Config } from '../config.ts';
import { UsageError, isProviderError } from '../domain/errors.ts';
import { type ProviderName, providerName } from '../domain/ids.ts';
import { plainText } from '../lib/texts.ts';
import { asOperator, underLease, withDatabase } from './database.ts';
import { toTable } from './layout.ts';
import type { CommandOutput } from './remote/output.ts';
import { openProvider } from '../daemon/providers.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { silentLog } from '../adapters/log/port.ts';
import { silentMetrics } from '../adapters/metrics/port.ts';
import { provisionerJob } from '../actors/leases.ts';
import type { ProviderRecord } from '../domain/provisioning/records.ts';

export interface SweepOptions {
  /** Configuration, YAML. */
  readonly file: string;
  /** Absent: list the records of providers that are no longer configured. */
  readonly provider?: string | undefined;
  /** Without it the command only lists the leftovers. */
  readonly remove: boolean;
  /** For an unconfigured provider: the number of records that the operator agrees to lose. */
  readonly expectCount?: number | undefined;
  readonly version: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/**
 * `shepherd provider sweep`: lists leftovers of Shepherd at a provider that no machine needs and that are at
 * least an hour old. With `remove` it removes them. Needs the database only for drivers that keep records.
 * For an unconfigured provider see `sweepRecords`.
 * @throws {UsageError} the configuration is wrong, or our SSH key is missing.
 * @throws {NotFound} no provider has this name. @throws {ProviderError} the provider does not answer.
 */
export async function sweep(options: SweepOptions): Promise<CommandOutput> {
  const { file, remove, signal, version, provider: name } = options;
  const config = loadConfig({ file, env: process.env, flags: {} });
  const settings = name === undefined ? undefined : config.providers[name];
  if (name === undefined || settings === undefined) return sweepRecords(options);
  const records = (of: ProviderName) => createReadRecords(of, { records: onlyOnceAsked(file) });
  const { provider } = openProvider(providerName(name), settings, {
    ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: silentMetrics },
    ...{ version, records, drivers: DRIVERS, ...(await ourPublicKeys(config)) },
  });
  try {
    const { removed } = await provider.sweep({ signal, dryRun: !remove });
    const document = { provider: name, dryRun: !remove, removed };
    return { document, text: inWords(name, removed, remove) };
  } finally {
    await provider.stop();
  }
}

/** Opens the database only when a driver asks for its records. */
const onlyOnceAsked = (file: string): RecordStore => ({
  all: (provider, signal) => withDatabase({ file }, ({ records }) => records.all(provider, signal)),
  counts: (signal) => withDatabase({ file }, ({ records }) => records.counts(signal)),
});

/** Drivers recognise leftovers by our public keys, so a new key would find nothing. */
async function ourPublicKeys({ ssh: { keyPath, previousKeyPaths, keyPassphrase } }: Config) {
  if (!existsSync(keyPath)) {
    throw new UsageError(
      `our SSH key ${keyPath} is missing, and leftovers are recognised by this key; run this on the host of the daemon`,
    );
  }
  const passphrase = keyPassphrase?.read();
  const options = passphrase === undefined ? {} : { passphrase };
  const lineOf = async (path: string) => (await loadSshKey(path, options)).publicLine;
  const previousKeys = await Promise.all(previousKeyPaths.filter(existsSync).map(lineOf));
  return { publicKey: await lineOf(keyPath), previousKeys };
}

function inWords(name: string, removed: SweepReport['removed'], isDone: boolean): string {
  if (removed.length === 0) return `${name}: no leftovers`;
  const lines = removed.map(({ kind, id }) => [`  ${plainText(kind)}`, plainText(id)]);
  const head = isDone
    ? `${name}: ${removed.length} removed`
    : `${name}: ${removed.length} would be removed with --remove`;
  return `${head}\n${toTable(lines)}`;
}

/** Records of drivers about things that may still be at a vendor, though no configuration names the provider. */

type SweepRecordsOptions = Omit<SweepOptions, 'version'>;

/**
 * Lists the records of unconfigured providers, or removes the records of one.
 * @throws {UsageError} a daemon still works with the provider, its machines are known, the count differs, or
 *   the provider has no records. Nothing was done.
 */
export async function sweepRecords(options: SweepRecordsOptions): Promise<CommandOutput> {
  const { file, remove, signal } = options;
  if (options.provider !== undefined) return sweepOne(options, providerName(options.provider));
  if (remove) throw new UsageError('--remove works on one provider; name the provider');
  return withDatabase({ file }, async (bmdb, { providers }) => {
    const counts = [...(await bmdb.records.counts(signal))];
    const left = counts
      .filter(([provider]) => providers[provider] === undefined)
      .map(([provider, records]) => ({ provider, records }))
      .toSorted((a, b) => (a.provider < b.provider ? -1 : 1));
    return { document: { unconfigured: left }, text: leftInWords(left) };
  });
}

function leftInWords(left: readonly { readonly provider: string; readonly records: number }[]) {
  if (left.length === 0) return 'no unconfigured provider has records';
  return [
    'records of unconfigured providers; the devices in them may still exist at the vendor:',
    toTable(left.map(({ provider, records }) => [`  ${plainText(provider)}`, String(records)])),
    'a provider that you configure again under its name continues with its records',
  ].join('\n');
}

const sweepOne = (options: SweepRecordsOptions, name: ProviderName): Promise<CommandOutput> =>
  withDatabase({ file: options.file }, async (bmdb, config) => {
    const { remove, expectCount, signal } = options;
    const kept = await bmdb.records.all(name, signal);
    if (kept.length === 0) throw new UsageError(unknownText(name, config));
    const keys = kept.map(({ key }) => key).toSorted();
    if (!remove) return told(name, keys, 0);
    requireCount(kept.length, expectCount);
    await requireForgotten(bmdb, name, signal);
    return told(name, keys, await removeAll(bmdb, name, kept));
  });

const unknownText = (name: ProviderName, { providers }: Config): string =>
  `no provider named ${plainText(name)} is configured or has records; configured: ` +
  (Object.keys(providers).join(', ') || 'none');

function requireCount(count: number, expected: number | undefined): void {
  if (expected === count) return;
  const found = `${count} records would be removed, which are the only proof that the devices at the vendor are Shepherd's`;
  throw new UsageError(
    expected === undefined
      ? `${found}; confirm with --expect-count ${count}`
      : `${found}, not ${expected}; nothing was done`,
  );
}

/** @throws {UsageError} machines of the provider are known, and only its records prove that they are ours. */
async function requireForgotten(bmdb: Bmdb, name: ProviderName, signal: AbortSignal) {
  const { machines } = await bmdb.scan(signal);
  const known = machines.filter(({ provided }) => provided?.provider === name).length;
  if (known === 0) return;
  throw new UsageError(
    `${name} still has ${known} machines, and only these records prove that they are Shepherd's; ` +
      'configure the provider again and give the machines back first',
  );
}

/** Works under the provisioner's lease, which a daemon with the provider in its configuration holds. */
const removeAll = (
  bmdb: Bmdb,
  name: ProviderName,
  kept: readonly ProviderRecord[],
): Promise<number> =>
  asOperator(bmdb, `has the records of provider ${name} removed`, async (session) => {
    const removed = await underLease(session, provisionerJob(name), async () => {
      let count = 0;
      for (const record of kept) count += Number(await drop(session, name, record));
      return count;
    });
    if (removed !== null) return removed;
    throw new UsageError(
      `a daemon works with provider ${name}; remove the provider from its configuration first`,
    );
  });

/** Leaves a record that changed in the meantime. */
async function drop(
  { records }: BmdbSession,
  provider: ProviderName,
  { key, version }: ProviderRecord,
): Promise<boolean> {
  try {
    await records.drop({ provider, key }, version);
    return true;
  } catch (error) {
    if (isProviderError(error, 'conflict')) return false;
    throw error;
  }
}

/** Shows only the keys, because the content of a record may be a secret. */
function told(name: ProviderName, keys: readonly string[], removed: number): CommandOutput {
  const head =
    removed > 0
      ? `${name}: ${removed} of ${keys.length} records removed; the devices at the vendor stay`
      : `${name} is not configured; ${keys.length} records of it would be removed; confirm with ` +
        `--remove --expect-count ${keys.length}`;
  return {
    document: { provider: name, configured: false, records: keys, removed },
    text: [head, ...keys.map((key) => `  ${plainText(key)}`)].join('\n'),
  };
}
