import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { createMemoryNetwork, type MemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { createEquinixApi } from '../../../../src/adapters/provider/equinix/api.ts';
import { createEquinixClient } from '../../../../src/adapters/provider/equinix/client.ts';
import type { Log } from '../../../../src/adapters/log/port.ts';
import { metricsTo } from '../../../../src/adapters/metrics/port.ts';
import {
  equinixSchema,
  type EquinixConfig,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import { createFleetProvider } from '../../../../src/adapters/driver-kit/fleet-provider.ts';
import {
  createEquinixProvider,
  type EquinixProviderDeps,
} from '../../../../src/adapters/provider/equinix/driver.ts';
import type {
  CreateRequest,
  DriverMachine,
  FleetProvider,
} from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { providerName, witness, type Witness } from '../../../../src/domain/ids.ts';
import { startEquinixEmulator } from '../../../../emulators/equinix/emulator.ts';
import type {
  EquinixEmulator,
  EquinixEmulatorOptions,
} from '../../../../emulators/equinix/options.ts';
import { callOf, INSTANCE_SET_ID, publicKeyLine } from '../driver-stand.ts';

export const TOKEN = 'token-that-must-never-be-seen';
export const PROJECT_ID = '9d1c0000-0000-4000-8000-000000000001';

/** An operator's settings, as written in a configuration. */
export const GIVEN = {
  token: '${TOKEN}',
  username: 'tester',
  projectId: PROJECT_ID,
  devicePrefix: 'shepherd-ci-',
  sshKeyLabel: 'shepherd-ci',
};

export const configFor = (baseUrl: string, change: Partial<EquinixConfig> = {}): EquinixConfig => ({
  ...equinixSchema({ env: { TOKEN }, baseDirectory: '/', checkFiles: false }).parse(GIVEN),
  name: 'equinix',
  baseUrl,
  token: () => TOKEN,
  publicKeyLine: publicKeyLine(1),
  instanceSetId: INSTANCE_SET_ID,
  os: 'ubuntu_22_04',
  apiRate: 0,
  connectTimeout: 600_000,
  attemptTimeout: 600_000,
  ...change,
});

export interface RecordingDeps extends EquinixProviderDeps {
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  /** Every requested delay. */
  readonly delaysMs: number[];
  /** All log records, as JSON lines. */
  readonly lines: string[];
  readonly calls: { readonly endpoint: string; readonly status: string }[];
}

export function recordingDeps(): RecordingDeps {
  const virtual = createSimulatedClock();
  const delaysMs: number[] = [];
  const clock: VirtualClock = {
    ...virtual,
    get pending() {
      return virtual.pending;
    },
    setTimeout(fn: () => void, delayMs: number) {
      delaysMs.push(delayMs);
      return virtual.setTimeout(fn, delayMs);
    },
  };
  const lines: string[] = [];
  const calls: { endpoint: string; status: string }[] = [];
  const write = (fields: object, message: string) =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
  return {
    clock,
    network: createMemoryNetwork(clock),
    delaysMs,
    random: createSeededRandom(7),
    log,
    metrics: metricsTo(({ name, labels }) => {
      if (name !== 'equinix_api_latency') return;
      calls.push({ endpoint: labels['endpoint']!, status: labels['status_code']! });
    }),
    lines,
    calls,
  };
}

/** The driver inside the core's wrapper, as in the fleet. Its calls let time pass. */
export const fleetOver = (config: EquinixConfig, deps: RecordingDeps): FleetProvider =>
  driven(deps.clock, bareFleetOver(config, deps));

/** The same, in time that the caller moves. */
export function bareFleetOver(config: EquinixConfig, deps: EquinixProviderDeps): FleetProvider {
  const options = {
    name: providerName(config.name),
    type: 'equinix',
    instanceSetId: config.instanceSetId,
    sharedTags: {},
    image: null,
    initCommand: '',
    publicKey: config.publicKeyLine,
  };
  return createFleetProvider(createEquinixProvider(config, deps), options, deps);
}

/** The emulator, in the time and network of a test. */
export const startEmulator = (
  { clock, network }: Pick<RecordingDeps, 'clock' | 'network'>,
  change: Partial<EquinixEmulatorOptions>,
): Promise<EquinixEmulator> =>
  startEquinixEmulator({
    ...{ listen: { host: '127.0.0.1', port: 0, network }, clock, profile: 'fast' },
    timings: { queuedMs: 5, provisioningMs: 40, addressesMs: 10 },
    ...change,
  });

/** Changes to a device that anybody with access to the project can make. */
export async function setTags(
  {
    fake,
    deps,
  }: { readonly fake: Pick<EquinixEmulator, 'url' | 'tokens'>; readonly deps: RecordingDeps },
  id: string,
  tags: readonly string[],
): Promise<void> {
  const { status } = await deps.network.fetch(`${fake.url}/devices/${id}`, {
    method: 'PATCH',
    headers: { 'X-Auth-Token': fake.tokens.user, 'Content-Type': 'application/json' },
    body: JSON.stringify({ tags }),
  });
  if (status !== 200) throw new Error(`the tags of ${id} were not changed: ${status}`);
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A server with the test's answers, for replies that an honest emulator never gives. */
export interface ScriptedApi {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

export type Script = (
  request: SeenRequest,
  response: ServerResponse,
  count: number,
) => void | Promise<void>;

/** Closes itself at the end of the test. */
export async function startScriptedApi(
  script: Script,
  network: MemoryNetwork,
): Promise<ScriptedApi> {
  const seen: SeenRequest[] = [];
  const server = createServer((req, res) => {
    void text(req).then((content) => {
      const url = new URL(req.url ?? '/', 'http://127.0.0.1');
      const request: SeenRequest = {
        method: req.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: req.headers,
        body: content === '' ? undefined : (JSON.parse(content) as unknown),
      };
      seen.push(request);
      return script(request, res, seen.length);
    });
  });
  const { port, close } = network.listen(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}/some/prefix`, seen, close };
}

/** A client of a scripted API. Both end with the test. Its calls let time pass. */
export async function scriptedClient(script: Script, change: Partial<EquinixConfig> = {}) {
  const deps = recordingDeps();
  const api = await startScriptedApi(script, deps.network);
  return { deps, api, client: clientOf(`${api.url}/`, deps, change) };
}
export function clientOf(
  baseUrl: string,
  deps: RecordingDeps,
  change: Partial<EquinixConfig> = {},
) {
  const made = operationsOver(configFor(baseUrl, change), deps);
  onTestFinished(() => made.stop());
  return driven(deps.clock, made);
}

export const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');

type Client = ReturnType<typeof createEquinixClient>;
/** The operations of the client individually, and the creation and search of the driver. */
export type Operations = {
  readonly [Name in keyof Client]: (...args: readonly unknown[]) => ReturnType<Client[Name]>;
} & {
  createDevice(request: CreateRequest, signal: AbortSignal): Promise<DriverMachine>;
  findByWitness(
    sought: { readonly witness: Witness; readonly reservationId: string },
    signal: AbortSignal,
  ): Promise<DriverMachine | null>;
  prepare(signal: AbortSignal): Promise<void>;
  stop(): void;
};
export function operationsOver(config: EquinixConfig, deps: EquinixProviderDeps): Operations {
  const driver = createEquinixProvider(config, deps);
  const api = createEquinixApi(config, deps);
  const alone = Object.entries(createEquinixClient(config)).map(([name, operation]) => [
    name,
    async (...args: readonly unknown[]) => {
      const signal = args.find((arg) => arg instanceof AbortSignal)!;
      const others = args.filter((arg) => arg !== signal);
      const call = api.call(name, signal);
      return (operation as (...all: unknown[]) => Promise<unknown>)(call, ...others);
    },
  ]);
  return {
    ...(Object.fromEntries(alone) as Operations),
    createDevice: (request, signal) =>
      driver.createMachine(request, callOf({ signal, operationId: WITNESS })),
    findByWitness: (sought, signal) =>
      driver.findByWitness!(sought.witness, sought.reservationId, callOf({ signal })),
    prepare: (signal) => driver.prepare!(callOf({ signal })),
    stop() {
      api.stop();
      void driver.stop();
    },
  };
}

/** The driver's order for one reservation. */
export const requestFor = (
  reservationId: string,
  change: Partial<CreateRequest> = {},
): CreateRequest => ({
  unused: { reservationId, availability: 'KnownUnused' } as CreateRequest['unused'],
  hostname: `shepherd-ci-${reservationId.slice(0, 18)}`,
  plan: 'm3.large.x86',
  image: null,
  tags: {},
  initCommand: '',
  publicKey: '',
  resumed: false,
  onAttempt: async () => undefined,
  ...change,
});

/** The error of a promise, and its API's answer. */
export type ProviderFailure = Pick<
  ProviderError,
  'kind' | 'outcome' | 'message' | 'stack' | 'capacity'
> &
  NonNullable<ProviderError['answer']> & {
    readonly retryAt: number | undefined;
    readonly cause: unknown;
    readonly error: ProviderError;
  };
export async function failureOf(promise: Promise<unknown>): Promise<ProviderFailure> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return flat(error) as ProviderFailure;
}
function flat(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { kind, outcome, message, stack, capacity, answer, rateLimit } = error;
  const retryAt = rateLimit?.retryAt.getTime();
  const cause = flat(error.cause);
  return { kind, outcome, message, stack, capacity, ...answer, retryAt, cause, error };
}

/** The driver inside the core's wrapper, on a scripted API. */
export async function scriptedFleet(script: Script) {
  const deps = recordingDeps();
  const api = await startScriptedApi(script, deps.network);
  const provider = fleetOver(configFor(api.url), deps);
  onTestFinished(() => provider.stop());
  return { api, provider };
}

export function answer(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
}
