import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { EventBook } from '../../src/adapters/bmdb/events-port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { NO_SHELL, createMemoryRecords } from '../../src/adapters/driver-kit/stand-ins.ts';
import { DRIVERS } from '../../src/adapters/provider/drivers.ts';
import type {
  CreateRequest,
  Driver,
  DriverContext,
  Provider,
} from '../../src/adapters/provider/port.ts';
import { parseConfig } from '../../src/config.ts';
import { checkAround } from '../../src/daemon/check.ts';
import { createCloser } from '../../src/daemon/closer.ts';
import { openProvider, openProviders } from '../../src/daemon/providers.ts';
import { TUNING } from '../../src/daemon/tuning.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { providerName, witness } from '../../src/domain/ids.ts';
import { machine, order, scripted } from '../doubles/scripted-driver.ts';
import { env, minimal } from '../config/examples.ts';
import { recordingLog } from '../doubles/recording-log.ts';

const SET_ID = 'aaaaa-bbbbb-ccccccccccccccc';
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-open-'));
  writeFileSync(join(directory, 'machines.json'), '[]');
});
afterEach(() => rmSync(directory, { recursive: true }));

const means = () => ({
  clock: systemClock,
  random: systemRandom,
  log: recordingLog(),
  metrics: silentMetrics,
  version: '1.2.3',
  publicKey: 'ssh-ed25519 AAAA',
  records: createMemoryRecords(systemRandom),
  drivers: DRIVERS,
});

test('opens every configured provider by its driver, and stops it with the daemon', async () => {
  const all = means();
  const closer = createCloser(all.log);
  const common = { instanceSetId: SET_ID };
  const providers = {
    rack: { driver: 'static', ...common, inventory: 'file:machines.json' },
    cloud: minimal().providers.equinix,
  };
  const config = parseConfig({ ...minimal(), providers }, { env, baseDirectory: directory });
  const keys = { publicLine: all.publicKey };
  const opened = openProviders(
    { ...all, config, closer, tuning: TUNING },
    { keys, drivers: DRIVERS, daemons: () => 1, records: all.records, driverShell: NO_SHELL },
  );
  expect([...opened].map(([name, { type }]) => [name, type])).toEqual([
    ['rack', 'static'],
    ['cloud', 'equinix'],
  ]);
  const live = { signal: new AbortController().signal };
  const rack = opened.get(providerName('rack'))!;
  expect(await rack.listMachines(live)).toEqual({ machines: [], complete: true });
  await closer.close();
  await expect(rack.listMachines(live)).rejects.toMatchObject({ kind: 'stopped' });
});

test('gives a driver its own keys and its environment, and the core the common keys', async () => {
  const seen: { settings?: unknown; context?: DriverContext; request?: CreateRequest } = {};
  const driver: Driver = {
    name: 'rack',
    settings: () => z.strictObject({ height: z.number() }),
    open(settings, context) {
      Object.assign(seen, { settings, context });
      return scripted({
        createMachine: async (request) => {
          seen.request = request;
          return machine('1', { tags: request.tags });
        },
      });
    },
  };
  const settings = {
    driver: 'rack',
    instanceSetId: SET_ID,
    sharedTags: { team: 'red' },
    image: 'debian',
    callsPerSecond: 0,
    initCommand: undefined,
    maxMachines: 3,
    height: 42,
    recoveryMayEraseDisks: false,
  };
  let publicKey = 'ssh-ed25519 AAAA';
  const previousKeys = ['ssh-ed25519 CCCC'];
  const append = vi.fn<EventBook['append']>(async () => undefined);
  const { provider } = openProvider(providerName('r1'), settings, {
    ...means(),
    get publicKey() {
      return publicKey;
    },
    previousKeys,
    events: { append },
    daemons: () => 7,
    drivers: new Map([['rack', driver]]),
  });
  expect(seen.settings).toEqual({ height: 42 });
  expect(seen.context).toMatchObject({ name: 'r1', instanceSetId: SET_ID });
  expect(seen.context).toMatchObject({
    userAgent: 'shepherd/1.2.3',
    publicKey: 'ssh-ed25519 AAAA',
    previousKeys,
  });
  const event = { type: 'provider.ssh_key_replaced', reason: 'renewed', details: {} } as const;
  seen.context?.tellEvent?.(event);
  expect(append).toHaveBeenCalledWith({ ...event, provider: 'r1', actor: 'shepherd' });
  expect(seen.context?.daemons()).toBe(7);
  const live = { signal: new AbortController().signal };
  await provider.createMachine(order({ witness: witness('w') }), live);
  expect(seen.request).toMatchObject({ image: 'debian', tags: { team: 'red' }, publicKey });
  publicKey = 'ssh-ed25519 BBBB';
  await provider.createMachine(order({ witness: witness('v') }), live);
  expect([seen.context?.publicKey, seen.request?.publicKey]).toEqual([publicKey, publicKey]);
  await provider.stop();
});

test('reports an unknown driver as a usage error', () => {
  const settings = {
    driver: 'none',
    instanceSetId: SET_ID,
    sharedTags: {},
    callsPerSecond: 0,
    recoveryMayEraseDisks: false,
  };
  expect(() => openProvider(providerName('r1'), settings, means())).toThrow(UsageError);
});

test('stops the providers that a check of the configuration opened', async () => {
  const open = vi.spyOn(DRIVERS.get('static')!, 'open');
  const lab = { driver: 'static', instanceSetId: SET_ID, inventory: 'file:machines.json' };
  const around = { env, baseDirectory: directory };
  const config = parseConfig({ ...minimal(), providers: { lab } }, around);
  await checkAround(config, means());
  const opened = open.mock.results.map(({ value }) => value as Provider);
  open.mockRestore();
  expect(opened).toHaveLength(1);
  const { signal } = new AbortController();
  const deadline = new Date(Date.now() + 60_000);
  const call = { signal, deadline, operationId: 'a test', requireOurs: () => undefined };
  await expect(opened[0]!.listMachines({}, call)).rejects.toMatchObject({ kind: 'stopped' });
});
