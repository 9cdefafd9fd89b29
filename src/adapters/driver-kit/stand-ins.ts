import { ProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { createRecordTable } from '../../domain/provisioning/records.ts';
import type { Random } from '../clock/port.ts';
import type { RecordOptions, Records, DriverShell } from '../provider/port.ts';

/** Records in memory, for trying out a driver without a database. */
export function createMemoryRecords(random: Random): (provider: ProviderName) => Records {
  const table = createRecordTable(() => random.uuid());
  return (provider) => {
    const of = (key: string) => ({ provider, key });
    return {
      all: async (options) => ask(options, () => table.all(provider)),
      make: async (key, value, options) => ask(options, () => table.make(of(key), value)),
      replace: async (key, value, version, options) =>
        ask(options, () => table.replace(of(key), value, version)),
      drop: async (key, version, options) => ask(options, () => table.drop(of(key), version)),
    };
  };
}

function ask<T>({ signal }: RecordOptions, act: () => T): T {
  if (!signal.aborted) return act();
  throw new ProviderError('aborted', 'no record was touched: cancelled', { cause: signal.reason });
}

/** For a driver that is opened only for inspection. */
export const NO_SHELL: DriverShell = {
  connect: () => Promise.reject(new ProviderError('not-implemented', 'drivers have no SSH here')),
};
