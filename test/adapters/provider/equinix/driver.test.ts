import { expect, onTestFinished, test } from 'vitest';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import { NO_SHELL } from '../../../../src/adapters/provider/core/no-shell.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { driven } from '../../../doubles/simulated-clock.ts';
import { answer, type ScriptedApi, startScriptedApi } from './scripted-api.ts';
import {
  EQUINIX_DEFAULTS,
  type EquinixSettings,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import {
  DEFAULT_OPERATING_SYSTEM,
  standardCatalogue,
} from '../../../../src/simulator/fakequinix/state/catalogue.ts';
import { callOf } from './fleet.ts';
import { INSTANCE_SET_ID, PROJECT_ID, publicKeyLine, recordingDeps, TOKEN } from './setup.ts';

const schema = equinixDriver.settings({ env: { TOKEN }, baseDirectory: '/', checkFiles: false });
const settings = (change: object = {}) =>
  schema.parse({
    token: '${TOKEN}',
    username: 'tester',
    projectId: PROJECT_ID,
    devicePrefix: 'shepherd-ci-',
    sshKeyLabel: 'shepherd-ci',
    apiRate: '0s',
    ...change,
  }) as EquinixSettings;

let api: ScriptedApi;
let provider: Provider;

async function start(status: number, change: object) {
  const meta = { total: 0, current_page: 1, last_page: 1 };
  const deps = recordingDeps();
  const lists = { devices: [], hardware_reservations: [], meta };
  api = await startScriptedApi((_, res) => answer(res, status, lists), deps.network);
  const metrics = { ...silentMetrics, ...deps.metrics };
  const opened = equinixDriver.open(settings({ baseUrl: api.url, ...change }), {
    ...deps,
    metrics,
    name: providerName('equinix'),
    instanceSetId: INSTANCE_SET_ID,
    publicKey: publicKeyLine(1),
    records: createMemoryRecords(deps.random)(providerName('equinix')),
    shell: NO_SHELL,
    userAgent: 'shepherd',
    daemons: () => 1,
  });
  provider = driven(deps.clock, opened);
  onTestFinished(stop);
  return deps;
}
async function stop() {
  await provider.stop();
  await api.close();
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
  const line = standardCatalogue.operatingSystems.filter(({ slug }) => slug.startsWith('ubuntu_'));
  expect(settings().os).toBe(
    line
      .map(({ slug }) => slug)
      .toSorted()
      .at(-1),
  );
  expect([EQUINIX_DEFAULTS.os, DEFAULT_OPERATING_SYSTEM]).toEqual([settings().os, settings().os]);
});

test('the size of a page is asked for', async () => {
  await start(200, { pageSize: 7 });
  await provider.listMachines({}, callOf());
  expect(new Set(api.seen.map(({ query }) => query.get('per_page')))).toEqual(new Set(['7']));
});

test('an operation ends and waits as configured', async () => {
  const limits = { operationTimeout: '60s', backoffInitial: '4s', backoffMaximum: '5s' };
  const { delaysMs: asked } = await start(500, {
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
