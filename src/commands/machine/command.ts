import type { Bmdb } from '../../adapters/bmdb/port.ts';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { lossPolicyOf, type Config } from '../../config.ts';
import { UsageError } from '../../domain/errors.ts';
import { withDatabase } from '../database.ts';
import type { DatabaseOptions } from '../db.ts';
import { recordedFleet, type RecordedFleet } from './recorded-fleet.ts';
import { outputWidth } from './layout.ts';

/** What the commands about machines work with. */
export interface Means {
  readonly bmdb: Bmdb;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  /** An interrupt. */
  readonly signal: AbortSignal;
  /** Columns of a text. */
  readonly width: number;
}

/** What a command has to say, and the code that it ends with. */
export interface Told {
  readonly text: string;
  readonly exitCode: number;
}

export interface CommandOptions extends DatabaseOptions {
  readonly signal: AbortSignal;
}

/** Opens the database for a command about machines; asks no provider. */
export const withMeans = <T>(
  { signal, ...database }: CommandOptions,
  task: (means: Means) => Promise<T>,
): Promise<T> =>
  withDatabase(database, (bmdb, config) =>
    task({
      bmdb,
      config,
      signal,
      clock: systemClock,
      random: systemRandom,
      width: outputWidth(process.stdout),
    }),
  );

/** What the BMDB knows of the whole fleet now. */
export async function readFleet({ bmdb, config, signal }: Means): Promise<RecordedFleet> {
  const names = new Set(Object.keys(config.providers));
  return recordedFleet(await bmdb.scan(signal), { loss: lossPolicyOf(config), providers: names });
}

/** @throws {UsageError} it is not said who asks, or why. */
export function requireWhoAndWhy({
  by,
  reason,
}: {
  readonly by: string;
  readonly reason: string;
}): void {
  if (reason.trim() !== '' && by.trim() !== '') return;
  throw new UsageError('say who asks and why: --by and --reason must not be empty');
}
