import { expect, onTestFinished } from 'vitest';
import { createMemoryNetwork, type MemoryNetwork } from '../../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../../../../doubles/simulated-clock.ts';
import type { Log } from '../../../../../src/adapters/log/port.ts';
import { createMemMetrics } from '../../../../doubles/mem-metrics.ts';
import {
  createEquinixClient,
  type EquinixClient,
} from '../../../../../src/adapters/provider/equinix/client/client.ts';
import type { DeviceOrder } from '../../../../../src/adapters/provider/equinix/client/device-order.ts';
import { ApiError } from '../../../../../src/adapters/http/errors.ts';
import type { EquinixConfig } from '../../../../../src/adapters/provider/equinix/settings.ts';
import { witness } from '../../../../../src/domain/ids.ts';
import { startEquinixEmulator } from '../../../../../emulators/equinix/emulator.ts';
import type {
  EquinixEmulator,
  EquinixEmulatorOptions,
} from '../../../../../emulators/equinix/options.ts';
import { configFor } from '../setup.ts';
import { publicKeyLine } from '../../driver-stand.ts';

export const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
export const KEY_LABEL = 'shepherd-ci';
export const live = new AbortController().signal;

type Entry = ReturnType<EquinixEmulator['requests']>[number];

/** A client and an emulator on one clock that moves only when both have nothing else to do. */
export interface Stand {
  readonly fake: EquinixEmulator;
  readonly client: EquinixClient;
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  readonly metrics: ReturnType<typeof createMemMetrics>;
  /** Everything logged, as JSON lines. */
  readonly lines: readonly string[];
  /** Another client of the same account. */
  another(change?: Partial<EquinixConfig>): EquinixClient;
  /** Lets time pass until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** As `run`, for a promise that has to fail with an error of the client. */
  failureOf(promise: Promise<unknown>): Promise<ApiError>;
  /** Journal entries since the stand was ready. */
  calls(): readonly Entry[];
  /** The same as `METHOD route`. */
  routes(): string[];
  /** Requests of the client that have no reply yet. */
  inFlight(): number;
  /** Counts from here on. */
  forget(): void;
}

export interface StandOptions {
  readonly fake?: Partial<EquinixEmulatorOptions>;
  readonly config?: Partial<EquinixConfig>;
  readonly daemons?: () => number;
}

export async function createStand(options: StandOptions = {}): Promise<Stand> {
  const clock = createSimulatedClock(Date.parse('2026-08-01T10:00:00Z'));
  const network = createMemoryNetwork(clock);
  const fake = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0, network },
    profile: 'real',
    reservations: 2,
    clock,
    ...options.fake,
  });
  const lines: string[] = [];
  const write = (fields: object, message: string) =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
  const remembered = createMemMetrics();
  const flights: { now: number }[] = [];
  const clients: EquinixClient[] = [];
  let fromSeq = 0;

  function another(change: Partial<EquinixConfig> = {}): EquinixClient {
    const flight = { now: 0 };
    flights.push(flight);
    const metrics = {
      ...remembered,
      equinixSlots(waiting: number, inFlight: number) {
        flight.now = inFlight;
        remembered.equinixSlots(waiting, inFlight);
      },
    };
    const config = {
      ...configFor(fake.url, { token: () => fake.tokens.user, projectId: fake.projectId }),
      parallelism: 1,
      ...options.config,
      ...change,
      timings: { ...options.config?.timings, ...change.timings },
    };
    const random = createSeededRandom(clients.length + 1);
    const deps = { clock, network, random, log, metrics };
    const shared = options.daemons ? { ...deps, daemons: options.daemons } : deps;
    const client = createEquinixClient(config, shared);
    clients.push(client);
    return client;
  }
  const inFlight = () => flights.reduce((sum, { now }) => sum + now, 0);

  const run = <T>(promise: Promise<T>): Promise<T> => runOut(clock, promise);

  onTestFinished(async () => {
    for (const client of clients) client.stop();
    await fake.close();
    expect(fake.violations()).toEqual([]);
  });
  const calls = () => fake.requests(fromSeq);
  return {
    fake,
    client: another(),
    clock,
    network,
    metrics: remembered,
    lines,
    another,
    run,
    inFlight,
    failureOf: async (promise) => failureOf(run(promise)),
    calls,
    routes: () => calls().map(({ method, route }) => `${method} ${route}`),
    forget: () => void (fromSeq = fake.requests().at(-1)?.seq ?? 0),
  };
}

export async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

/** Stores our key and makes an order for the first free reservation. */
export async function orderFor(
  stand: Stand,
  change: Partial<DeviceOrder> = {},
): Promise<DeviceOrder> {
  const key = { label: KEY_LABEL, key: publicKeyLine(1) };
  const sshKeyId = await stand.run(stand.client.ensureSshKey(key, live));
  stand.forget();
  const reservationId = stand.fake.reservations()[0]!.id;
  const hostname = `shepherd-ci-${reservationId.slice(0, 18)}`;
  return { reservationId, hostname, witness: WITNESS, sshKeyId, ...change };
}
