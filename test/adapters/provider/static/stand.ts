import { createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { NO_SHELL } from '../../../../src/adapters/provider/core/no-shell.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import type { DriverContext } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';

export const SET_ID = 'aaaaa-bbbbb-ccccccccccccccc';

export const context = (change: Partial<DriverContext> = {}): DriverContext => ({
  name: providerName('rack'),
  instanceSetId: SET_ID,
  clock: systemClock,
  random: createSeededRandom(1),
  log: recordingLog(),
  metrics: silentMetrics,
  publicKey: '',
  records: createMemoryRecords(createSeededRandom(2))(providerName('rack')),
  shell: NO_SHELL,
  userAgent: 'test/1',
  daemons: () => 1,
  ...change,
});

export const call = (signal = new AbortController().signal) => ({
  signal,
  deadline: new Date(Date.now() + 60_000),
  operationId: 'x',
  requireOurs: () => undefined,
});
