import { expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { DriverContext } from '../../src/adapters/provider/port.ts';
import { createSubject } from '../../src/commands/provider-subject.ts';
import { readProvidersOnly } from '../../src/config/providers-only.ts';
import { memoryDriver } from '../doubles/mem-provider.ts';
import { scripted } from '../doubles/scripted-driver.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';

test('all instances of a driver under test share records, and another test has its own', async () => {
  const contexts: DriverContext[] = [];
  const drivers = new Map([
    [
      'memory',
      memoryDriver((_, context) => {
        contexts.push(context);
        return scripted();
      }),
    ],
  ]);
  const config = readProvidersOnly({
    text: JSON.stringify({ providers: { lab: { driver: 'memory' } } }),
    name: 'the configuration',
    around: { env: {}, baseDirectory: '/', checkFiles: true },
    drivers,
  });
  const subject = () =>
    createSubject(
      {
        ...{ config, wanted: 'lab', image: null, tester: '1', publicKey: '', version: '0' },
        ...{ setId: 'zzzzz-zzzzz-zzzzzzcloudtest', drivers },
      },
      { clock: systemClock, random: createSeededRandom(1), log: silentLog },
    );
  const one = subject();
  const opened = [];
  for (const each of [one, one, subject()]) opened.push(await each.open((provider) => provider));
  const [first, second, other] = contexts.map(({ records }) => records);
  const live = { signal: new AbortController().signal };
  const version = await first!.make('a', 1, live);
  expect(await second!.all(live)).toEqual([{ key: 'a', value: 1, version }]);
  expect(await other!.all(live)).toEqual([]);
  const off = { signal: AbortSignal.abort() };
  await expect(second!.drop('a', version, off)).rejects.toMatchObject({ kind: 'aborted' });
  await second!.drop('a', await first!.replace('a', 2, version, live), live);
  expect(await first!.all(live)).toEqual([]);
  await Promise.all(opened.map(({ fleet }) => fleet.stop()));
});
