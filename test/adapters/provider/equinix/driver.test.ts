import { expect, onTestFinished, test } from 'vitest';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { driven, runOut } from '../../../doubles/simulated-clock.ts';
import {
  EQUINIX_DEFAULTS,
  type EquinixSettings,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import {
  DEFAULT_OPERATING_SYSTEM,
  catalogueWith,
} from '../../../../emulators/equinix/state/catalogue.ts';
import { callOf, driverContext, publicKeyLine } from '../driver-stand.ts';
import { answer, GIVEN, recordingDeps, startScriptedApi, TOKEN } from './setup.ts';

const schema = equinixDriver.settings({ env: { TOKEN }, baseDirectory: '/', checkFiles: false });
const settings = (change: object = {}) =>
  schema.parse({ ...GIVEN, apiRate: '0s', ...change }) as EquinixSettings;

async function start(status: number, change: object) {
  const meta = { total: 0, current_page: 1, last_page: 1 };
  const deps = recordingDeps();
  const lists = { devices: [], hardware_reservations: [], meta };
  const api = await startScriptedApi((_, res) => answer(res, status, lists), deps.network);
  const metrics = { ...silentMetrics, ...deps.metrics };
  const opened = equinixDriver.open(
    settings({ baseUrl: api.url, ...change }),
    driverContext('equinix', { ...deps, metrics, publicKey: publicKeyLine(1) }),
  );
  onTestFinished(() => runOut(deps.clock, opened.stop()));
  return { ...deps, api, provider: driven(deps.clock, opened) };
}

test('limits and waits have their defaults', () => {
  expect(settings()).toMatchObject({
    pageSize: 100,
    connectTimeout: 10_000,
    attemptTimeout: 60_000,
    operationTimeout: 900_000,
    backoffInitial: 500,
    backoffMaximum: 60_000,
  });
});

test('a new machine gets the newest system of its line that the emulator offers', () => {
  const line = catalogueWith({}).operatingSystems.filter(({ slug }) => slug.startsWith('ubuntu_'));
  const newest = line.map(({ slug }) => slug).toSorted();
  expect(settings().os).toBe(newest.at(-1));
  expect([EQUINIX_DEFAULTS.os, DEFAULT_OPERATING_SYSTEM]).toEqual([settings().os, settings().os]);
});

test('the size of a page is asked for', async () => {
  const { api, provider } = await start(200, { pageSize: 7 });
  await provider.listMachines({}, callOf());
  expect(new Set(api.seen.map(({ query }) => query.get('per_page')))).toEqual(new Set(['7']));
});

test('an operation ends and waits as configured', async () => {
  const limits = { operationTimeout: '60s', backoffInitial: '4s', backoffMaximum: '5s' };
  const { delaysMs: asked, provider } = await start(500, {
    ...limits,
    connectTimeout: '11m',
    attemptTimeout: '30s',
  });
  const failed = provider.getMachine('e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701', callOf());
  await expect(failed).rejects.toMatchObject({
    cause: { kind: 'Deadline', messages: ['no success within 60000 ms'] },
  });
  const delaysMs = asked.filter((ms) => ms > 0);
  expect(delaysMs).toEqual(expect.arrayContaining([30_000, 660_000]));
  // The limit of an attempt, which may be what is left of the operation, follows that of its connection.
  const isLimit = (n: number) => [delaysMs[n], delaysMs[n - 1]].includes(660_000);
  const waitsMs = delaysMs.filter((_, n) => !isLimit(n));
  expect(waitsMs.length).toBeGreaterThan(2);
  for (const ms of waitsMs) expect(ms).toBeGreaterThanOrEqual(2_000);
  for (const ms of waitsMs) expect(ms).toBeLessThanOrEqual(7_500);
});
