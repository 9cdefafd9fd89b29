import { existsSync } from 'node:fs';
import { createReadRecords } from '../../actors/providers/records.ts';
import type { RecordShelf } from '../../adapters/bmdb/port.ts';
import type { SweepReport } from '../../adapters/provider/port.ts';
import { loadSshKey } from '../../adapters/ssh/key-file.ts';
import { loadConfig, type Config } from '../../config.ts';
import { UsageError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { plainText } from '../../lib/texts.ts';
import { withDatabase } from '../database.ts';
import { jsonLine, toTable } from '../text-table.ts';
import { openAll } from './open-providers.ts';
import { sweepRecords } from './sweep-records.ts';

export interface SweepOptions {
  /** Configuration, YAML. */
  readonly file: string;
  /** Absent: what is recorded of providers that are no longer configured is told. */
  readonly provider?: string | undefined;
  /** Otherwise it is only told what would go. */
  readonly remove: boolean;
  /** Of a provider that is not configured: how many records the operator agrees to lose. */
  readonly expectCount?: number | undefined;
  readonly json: boolean;
  readonly version: string;
  /** Gives up: an interrupt. */
  readonly signal: AbortSignal;
}

/**
 * `shepherd provider sweep`: removes what we left at a provider and no machine needs, of an hour or
 * older; only tells it unless `remove`. Needs no database, but for a driver that keeps records. Of one
 * that is not configured: its records, see `sweepRecords`.
 * @throws {UsageError} the configuration is wrong, or our SSH key is not there.
 * @throws {NotFound} there is no such provider. @throws {ProviderError} it does not answer.
 */
export async function sweep(options: SweepOptions): Promise<string> {
  const { file, remove, json, signal } = options;
  const config = loadConfig({ file, env: process.env, flags: {} });
  if (!isConfigured(config, options.provider)) return sweepRecords(options);
  const ours = await ourPublicKeys(config);
  const records = (name: ProviderName) => createReadRecords(name, { records: onlyOnceAsked(file) });
  const [provider] = openAll(config, { ...options, ...ours, records }).values();
  try {
    const { removed } = await provider!.sweep({ signal, dryRun: !remove });
    if (json) return jsonLine({ provider: provider!.name, dryRun: !remove, removed });
    return inWords(provider!.name, removed, remove);
  } finally {
    await provider!.stop();
  }
}

const isConfigured = ({ providers }: Config, name: string | undefined): boolean =>
  name !== undefined && providers[name] !== undefined;

/** The database is opened only for a driver that asks for its records. */
const onlyOnceAsked = (file: string): RecordShelf => ({
  all: (provider, signal) => withDatabase({ file }, ({ records }) => records.all(provider, signal)),
  counts: (signal) => withDatabase({ file }, ({ records }) => records.counts(signal)),
});

/** Leftovers are known by them: without ours, none would be found, and a new one would be no help. */
async function ourPublicKeys({ ssh: { keyPath, previousKeyPaths, keyPassphrase } }: Config) {
  if (!existsSync(keyPath)) {
    throw new UsageError(`our SSH key ${keyPath} is not there: leftovers of ours cannot be told`);
  }
  const passphrase = keyPassphrase?.read();
  const options = passphrase === undefined ? {} : { passphrase };
  const lineOf = async (path: string) => (await loadSshKey(path, options)).publicLine;
  const previousKeys = await Promise.all(previousKeyPaths.filter(existsSync).map(lineOf));
  return { publicKey: await lineOf(keyPath), previousKeys };
}

function inWords(name: string, removed: SweepReport['removed'], isDone: boolean): string {
  if (removed.length === 0) return `${name}: nothing is left over`;
  const lines = removed.map(({ kind, id }) => [`  ${plainText(kind)}`, plainText(id)]);
  const head = isDone
    ? `${name}: ${removed.length} removed`
    : `${name}: ${removed.length} would be removed; --remove does it`;
  return `${head}\n${toTable(lines)}`;
}
