import { createPgBmdb } from '../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { providerName } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { recordValue } from './record-value.ts';

/**
 * One daemon's driver as a process of its own, to be killed: makes and replaces records without end,
 * many at once, and tells each time what was acknowledged.
 */
const [url, run, count] = process.argv.slice(2);
const provider = providerName('rack');
const bmdb = createPgBmdb({
  url: url!,
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  loss: DEFAULT_LOSS,
  budget: DEFAULT_BUDGET,
});
const session = await bmdb.openSession({
  component: 'shepherd',
  runtimeInfo: 'host test',
  intervalMs: 600_000,
});
// Whoever started us is gone.
process.on('disconnect', () => process.exit(0));

async function write(key: string): Promise<never> {
  let version = await session.records.make({ provider, key }, recordValue(key, 0));
  process.send?.({ key, step: 0 });
  for (let step = 1; ; step++) {
    version = await session.records.replace({ provider, key }, recordValue(key, step), version);
    process.send?.({ key, step });
  }
}

await Promise.all(
  Array.from({ length: Number(count) }, (_, at) => write(`run ${run} record ${at}`)),
);
