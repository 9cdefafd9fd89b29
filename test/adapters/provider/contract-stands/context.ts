import { createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { NO_SHELL } from '../../../../src/adapters/provider/core/no-shell.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import type { DriverContext } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { INSTANCE_SET_ID } from '../equinix/setup.ts';

/** What a driver is opened with, nothing special about it. */
export const driverContext = (name: string): DriverContext => ({
  name: providerName(name),
  instanceSetId: INSTANCE_SET_ID,
  clock: systemClock,
  random: createSeededRandom(1),
  log: silentLog,
  metrics: silentMetrics,
  publicKey: '',
  records: createMemoryRecords(createSeededRandom(2))(providerName(name)),
  shell: NO_SHELL,
  userAgent: 'test',
  daemons: () => 1,
});
