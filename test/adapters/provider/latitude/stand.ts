import { onTestFinished } from 'vitest';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import {
  createFleetProvider,
  type FleetProviderOptions,
} from '../../../../src/adapters/provider/core/fleet-provider.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { NO_SHELL } from '../../../../src/adapters/provider/core/no-shell.ts';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import { hostnameOf } from '../../../../src/adapters/provider/latitude/names.ts';
import type { LatitudeSettings } from '../../../../src/adapters/provider/latitude/settings.ts';
import type {
  CallOptions,
  FleetProvider,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import { providerName, type Witness, witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { startFakelatitude } from '../../../../src/simulator/fakelatitude/fakelatitude.ts';
import type {
  Fakelatitude,
  FakelatitudeOptions,
} from '../../../../src/simulator/fakelatitude/options.ts';
import { type RecordingLog, recordingLog } from '../../../doubles/recording-log.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import { immortal, type Life, mortal, mortalClock } from '../../../doubles/life.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { publicKeyLine } from '../equinix/setup.ts';

export const SET = 'shep0-ci000-000000000000000';
export const OTHER_SET = 'other-ci000-000000000000000';
export const PREFIX = 'shep-';
export const PLAN = 'c3-small-x86';
export const SITE = 'ASH';
export const slotOf = (n: number) => `${PLAN}/${SITE}/${n}`;
export const nameOf = (n: number) => hostnameOf(slotOf(n), PREFIX);
export const KEY = publicKeyLine(1, 'somebody@a-private-place');
export const witnessOf = (n: number): Witness =>
  witness(`0b6e0000-0000-4000-8000-${String(n).padStart(12, '0')}`);

/** The emulator and the driver, both in the same virtual time. */
export interface Stand {
  readonly fake: Fakelatitude;
  readonly clock: VirtualClock;
  readonly log: RecordingLog;
  /** The driver by itself; further ones are other processes. */
  open(change?: Partial<Opened>): Provider;
  /** The driver in the core's hands. */
  fleet(change?: Partial<Opened>): FleetProvider;
  /** Lets time pass until a task is over. */
  run<T>(task: Promise<T>): Promise<T>;
  /** Lets time pass. */
  wait(forMs: number): Promise<void>;
  /** Requests since then as `METHOD route`, oldest first. */
  sent(afterSeq?: number): string[];
  count(line: string): number;
  lastSeq(): number;
  free(provider: FleetProvider, n?: number): Promise<ProviderMachine>;
  /** A machine of ours on a slot, installed. */
  made(provider: FleetProvider, n?: number): Promise<ProviderMachine>;
  /** As anybody with the key may do. */
  api(method: string, path: string, attributes?: object, type?: string): Promise<Told>;
}
export interface Told {
  readonly status: number;
  readonly data: unknown;
}
export interface Opened {
  readonly settings: object;
  readonly instanceSetId: string;
  readonly daemons: number;
  readonly publicKey: string;
  readonly previousKeys: readonly string[];
  readonly life: Life;
  readonly fleet: Partial<FleetProviderOptions>;
}

export const live = { signal: new AbortController().signal };

/** For a call of the driver itself; whatever machine it is about is taken for ours. */
export const callOf = (change: Partial<CallOptions> = {}): CallOptions => ({
  signal: new AbortController().signal,
  deadline: new Date(8_640_000_000_000_000),
  operationId: witnessOf(0),
  requireOurs: () => undefined,
  ...change,
});

export async function startStand(
  options: Partial<FakelatitudeOptions> = {},
  usual: object = {},
): Promise<Stand> {
  const clock = createSimulatedClock();
  const network = createMemoryNetwork(clock);
  const fake = await startFakelatitude({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    ...options,
  });
  const log = recordingLog();
  const stops: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    await runOut(clock, Promise.all(stops.map((stop) => stop())));
    await fake.close();
  });
  const schema = latitudeDriver.settings({
    env: { TOKEN: fake.token },
    baseDirectory: '/',
    checkFiles: false,
  });
  function open({
    settings = {},
    instanceSetId = SET,
    daemons = 1,
    publicKey = KEY,
    previousKeys = [],
    life = immortal(),
  }: Partial<Opened> = {}) {
    const given = {
      baseUrl: fake.url,
      token: '${TOKEN}',
      project: fake.project,
      namePrefix: PREFIX,
      sshKeyName: 'shepherd',
      slots: [{ plan: PLAN, site: SITE, count: 2 }],
      ...usual,
      ...settings,
    };
    const random = createSeededRandom(7);
    const name = providerName('latitude');
    const provider = latitudeDriver.open(schema.parse(given) as LatitudeSettings, {
      ...{ name, instanceSetId, random, log, publicKey, previousKeys },
      ...mortal(life, { clock, network, records: createMemoryRecords(random)(name) }),
      metrics: silentMetrics,
      shell: NO_SHELL,
      userAgent: 'test',
      daemons: () => daemons,
    });
    // What is dead is never stopped: its connections end with the emulator.
    stops.push(async () => {
      if (!life.isDead) await provider.stop();
    });
    return provider;
  }

  const run = <T>(task: Promise<T>): Promise<T> => runOut(clock, task);
  const line = ({ method, route }: { method: string; route: string }) => `${method} ${route}`;
  const sent = (afterSeq = 0) => fake.requests(afterSeq).map(line);

  async function free(provider: FleetProvider, n = 1): Promise<ProviderMachine> {
    const { machines } = await run(provider.listMachines(live));
    const found = machines.find(({ reservationId }) => reservationId === slotOf(n));
    if (!found) throw new Error(`slot ${n} is not listed`);
    return found;
  }

  const fleet = (change: Partial<Opened> = {}): FleetProvider => {
    const fleetOptions = {
      ...{
        name: providerName('latitude'),
        type: 'latitude',
        instanceSetId: change.instanceSetId ?? SET,
      },
      ...{ sharedTags: {}, image: null, initCommand: 'echo site', publicKey: KEY },
      ...change.fleet,
    };
    const deps = {
      clock: mortalClock(change.life ?? immortal(), clock),
      random: createSeededRandom(11),
      log,
      metrics: silentMetrics,
    };
    return createFleetProvider(open(change), fleetOptions, deps);
  };

  return {
    ...{ fake, clock, log, open, run, sent, free, fleet },
    wait: (forMs) => advance(clock, forMs),
    count: (wanted) => sent().filter((each) => each === wanted).length,
    lastSeq: () => fake.requests().at(-1)?.seq ?? 0,
    async made(provider, n = 1) {
      const unused = await free(provider, n);
      const order = { unused, hostname: nameOf(n), witness: witnessOf(n) };
      const machine = await run(provider.createMachine(order, live));
      await advance(clock, 20 * 60_000);
      return machine;
    },
    async api(method, path, attributes, type) {
      const response = await network.fetch(`${fake.url}${path}`, {
        method,
        headers: { Authorization: `Bearer ${fake.token}`, 'Content-Type': 'application/json' },
        ...(attributes && { body: JSON.stringify({ data: { type, attributes } }) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        data: text === '' ? null : (JSON.parse(text) as { data: unknown }).data,
      };
    },
  };
}
