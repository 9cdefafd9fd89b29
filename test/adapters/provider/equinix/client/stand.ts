import { heeding } from '../../../../../src/adapters/metrics/port.ts';
import { expect, onTestFinished } from 'vitest';
import { createSeededRandom, runOut } from '../../../../doubles/simulated-clock.ts';
import { createMemMetrics } from '../../../../doubles/mem-metrics.ts';
import type { CreateRequest } from '../../../../../src/adapters/provider/port.ts';
import type { EquinixConfig } from '../../../../../src/adapters/provider/equinix/settings.ts';
import type { EquinixEmulatorOptions } from '../../../../../emulators/equinix/options.ts';
import {
  configFor,
  failureOf,
  operationsOver,
  recordingDeps,
  requestFor,
  startEmulator,
  type Operations,
} from '../setup.ts';

export const KEY_LABEL = 'shepherd-ci';
export const live = new AbortController().signal;

export interface ClientStandOptions {
  readonly fake?: Partial<EquinixEmulatorOptions>;
  readonly config?: Partial<EquinixConfig>;
  readonly daemons?: () => number;
}

/** A client and an emulator on one clock, which moves only when both are idle. */
export async function createStand({ fake: given, config = {}, daemons }: ClientStandOptions = {}) {
  const { clock, network, log, lines } = recordingDeps();
  const real = { profile: 'real', timings: {}, reservations: 2 } as const;
  const fake = await startEmulator({ clock, network }, { ...real, ...given });
  const remembered = createMemMetrics();
  const flights: { now: number }[] = [];
  const clients: Operations[] = [];
  let fromSeq = 0;

  /** Another client of the same account. */
  function another(change: Partial<EquinixConfig> = {}): Operations {
    const flight = { now: 0 };
    flights.push(flight);
    const metrics = heeding(remembered, ({ name, value }) => {
      if (name === 'equinix_api_in_flight') flight.now = value;
    });
    const access = { token: () => fake.tokens.user, projectId: fake.projectId };
    const paced = { parallelism: 1, connectTimeout: 10_000, attemptTimeout: 60_000 };
    const settings = { ...configFor(fake.url, access), ...paced, ...config, ...change };
    const random = createSeededRandom(clients.length + 1);
    const deps = { clock, network, random, log, metrics, ...(daemons && { daemons }) };
    const client = operationsOver(settings, deps);
    clients.push(client);
    return client;
  }
  /** Lets time pass until the promise settles. */
  const run = <T>(promise: Promise<T>): Promise<T> => runOut(clock, promise);
  /** Journal entries since the stand was ready. */
  const calls = () => fake.requests(fromSeq);
  onTestFinished(async () => {
    for (const client of clients) client.stop();
    await fake.close();
    expect(fake.violations()).toEqual([]);
  });
  return {
    ...{ fake, client: another(), clock, network, metrics: remembered, lines, another, run, calls },
    /** Like `run`, for a promise that must fail with a client error. */
    failureOf: async (promise: Promise<unknown>) => failureOf(run(promise)),
    /** The calls as `METHOD route`. */
    routes: () => calls().map(({ method, route }) => `${method} ${route}`),
    /** Requests of the clients that have no reply yet. */
    inFlight: () => flights.reduce((sum, { now }) => sum + now, 0),
    /** Counts from here on. */
    forget: () => void (fromSeq = fake.requests().at(-1)?.seq ?? 0),
  };
}
export type ClientStand = Awaited<ReturnType<typeof createStand>>;

/** Stores our key and orders a device on the first free reservation. */
export async function orderFor(
  stand: ClientStand,
  change: Partial<CreateRequest> = {},
): Promise<CreateRequest> {
  await stand.run(stand.client.prepare(live));
  stand.forget();
  return requestFor(stand.fake.reservations()[0]!.id, change);
}
