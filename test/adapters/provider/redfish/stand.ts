import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';
import type {
  CallOptions,
  DriverMachine,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { redfishDriver } from '../../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../../src/adapters/provider/redfish/settings.ts';
import { listenAt } from '../../../../emulators/kit/listen.ts';
import {
  createRackMachines,
  type RackMachinesOptions,
} from '../../../../emulators/redfish/machines/machines.ts';
import { startRedfishEmulator } from '../../../../emulators/redfish/emulator.ts';
import type { RedfishFaultRule } from '../../../../emulators/redfish/faults.ts';
import type {
  BmcSnapshot,
  RedfishEmulator,
  RedfishEmulatorOptions,
  SystemSnapshot,
} from '../../../../emulators/redfish/options.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { explain, isProviderError } from '../../../../src/domain/errors.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { PROVIDER } from '../../../support/facts.ts';
import { driverContext, INSTANCE_SET_ID } from '../driver-stand.ts';
import { createFleetProvider } from '../../../../src/adapters/driver-kit/fleet-provider.ts';

const START_MS = Date.parse('2026-08-01T10:00:00Z');

export interface RackOptions extends Partial<RedfishEmulatorOptions> {
  /** Another owner's virtual medium. */
  readonly virtual?: VirtualClock;
  /** Over TLS, in this clock's time. */
  readonly wire?: Clock;
  /** Part of the configuration, as written. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Changes an entry of the inventory. */
  readonly entry?: (machine: SystemSnapshot, bmc: BmcSnapshot) => object;
  /** Entries in addition to the emulator's. */
  readonly others?: readonly object[];
  /** The password that the driver uses. */
  readonly secret?: string;
  /** The machines behind the systems. Default: records only. */
  readonly machines?: Pick<RackMachinesOptions, 'hosts'> | null;
  readonly context?: Parameters<typeof driverContext>[1];
}

/** A refusal with a message of a registry and its text. */
export const refusing = (code: number, message: string, said = message) => ({
  type: 'status' as const,
  code,
  body: {
    error: { '@Message.ExtendedInfo': [{ MessageId: `Base.1.8.1.${message}`, Message: said }] },
  },
});
/** Accepts a change, and does not make it. */
export const IGNORED = { type: 'status', code: 204, body: null } as const;

/** One entry per system of the emulator. */
export const entriesOf = (
  fake: RedfishEmulator,
  change: RackOptions['entry'] = () => ({}),
): object[] =>
  fake
    .bmcs()
    .flatMap((bmc) =>
      bmc.systems.map((system) => ({
        ID: system.name,
        Addr: `127.0.0.${Number(system.name.split('-')[1]) + 1}`,
        SshPort: 1,
        Bmc: bmc.url,
        CertSha256: bmc.certSha256,
        System: system.path,
        Serial: system.serial,
        ...change(system, bmc),
      })),
    );

/** The configured driver on an emulator, both in one virtual time. */
export async function startRack(options: RackOptions = {}) {
  const {
    virtual = createSimulatedClock(START_MS),
    wire,
    settings: told,
    entry,
    others = [],
    secret,
    machines,
    context,
    ...own
  } = options;
  const clock = wire ? { ...virtual, ...wire } : virtual;
  const network = wire ? undefined : createMemoryNetwork(clock);
  const listen = { host: '127.0.0.1', port: 0, ...(network && { network }) };
  const { hooks } = machines
    ? createRackMachines({ ...machines, log: silentLog, ...(network && { network }) })
    : {};
  const fake = await startRedfishEmulator({ listen, clock, ...(hooks && { hooks }), ...own });
  /** The answer of the inventory's page. */
  const page = { text: JSON.stringify([...entriesOf(fake, entry), ...others]) };
  const server = createServer((_, response) => void response.end(page.text));
  const { host, port, close } = await listenAt(server, listen);
  const inventory = `http://${host}:${port}/machines.json`;
  const env: Record<string, string> = {
    BMC_PASSWORD: secret ?? fake.credentials.password,
    SEED_KEY: 's'.repeat(43),
  };
  const settings = redfishDriver
    .settings({ env, baseDirectory: '/', checkFiles: false })
    .parse({
      inventory,
      credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
      bmcGap: '1ms',
      ...told,
    }) as Settings;
  const log = recordingLog();
  const metrics = createMemMetrics();
  const base = driverContext('rack', { clock, log, metrics, network, ...context });
  const opened: Provider[] = [];
  const openBare = (change: Parameters<typeof driverContext>[1] = {}) =>
    redfishDriver.open(settings, { ...base, ...change });
  const openProvider = (change: Parameters<typeof driverContext>[1] = {}) => {
    const provider = openBare(change);
    opened.push(provider);
    return provider;
  };
  const provider = openProvider();
  const inTime = <T>(promise: Promise<T>): Promise<T> => (wire ? promise : runOut(clock, promise));
  onTestFinished(async () => {
    await inTime(Promise.all(opened.map((each) => each.stop())));
    await Promise.all([fake.close(), close()]);
  });

  const asked: string[] = [];
  const call = (change: Partial<CallOptions> = {}): CallOptions => ({
    signal: new AbortController().signal,
    deadline: new Date(clock.now() + 300_000),
    operationId: 'x',
    requireOurs: (machine: DriverMachine) => void asked.push(`ours ${machine.id}`),
    beforeSending: async () => void asked.push('before'),
    ...change,
  });
  const [bmc] = fake.bmcs();
  const path = bmc!.systems[0]!.path;
  const sent = (method: string) => fake.requests().filter((entry) => entry.method === method);

  const { username, password } = fake.credentials;
  const login = Buffer.from(`${username}:${password}`).toString('base64');
  const ask = async (method: string, at: string, { body }: { body?: object } = {}) => {
    const url = `${bmc!.url.replace(/^https:/, 'http:')}${at}`;
    const headers = { authorization: `Basic ${login}`, 'content-type': 'application/json' };
    const sent = body && { body: JSON.stringify(body) };
    const reply = await network!.fetch(url, { method, headers, ...sent });
    const told: unknown = await reply.json().catch(() => null);
    return { body: told };
  };
  const override = (boot: object) => ask('PATCH', path, { body: { Boot: boot } });
  return {
    fake,
    /** A client independent of the driver. */
    raw: { ask, override },
    clock,
    provider,
    open: openProvider,
    /** Not stopped at the end. */
    openBare,
    log,
    metrics,
    env,
    inventory,
    page,
    network,
    settings,
    asked,
    call,
    inTime,
    path,
    /** Requests with this method that reached the BMCs. */
    sent,
    /** The bodies of resets, in order. */
    resets: () =>
      sent('POST')
        .filter(({ route }) => route.endsWith('ComputerSystem.Reset'))
        .map(({ body }) => (body as { ResetType: string }).ResetType),
    fault: async (
      effect: RedfishFaultRule['effect'],
      rest: Omit<RedfishFaultRule, 'effect'> = {},
    ) => fake.addFault({ ...rest, effect }),
    system: () => fake.bmcs()[0]!.systems[0]!,
    /** On, with a running operating system. */
    async boot(name = 'system-1') {
      fake.reset(name, 'On');
      await advance(clock, 62_000);
    },
    reboot: (mode: 'graceful' | 'force' = 'graceful', how = call()) =>
      inTime(provider.rebootMachine('system-1', mode, how)),
    power: (want: 'on' | 'off', how = call()) => inTime(provider.setPower!('system-1', want, how)),
    get: (id = 'system-1') => inTime(provider.getMachine(id, call())),
    list: () => inTime(provider.listMachines({}, call())),
    prepare: () => inTime(provider.prepare!(call())),
    /** Lets time pass, with all due timers. */
    after: (ms: number) => advance(clock, ms),
  };
}

export type Rack = Awaited<ReturnType<typeof startRack>>;

/** The driver inside the core's wrapper. */
export function fleetOf({ provider, clock, log, metrics }: Rack) {
  const own = { name: PROVIDER, type: 'redfish', instanceSetId: INSTANCE_SET_ID, sharedTags: {} };
  return createFleetProvider(
    provider,
    { ...own, image: null, initCommand: '', publicKey: '', secrets: [] },
    { clock, log, metrics, random: createSeededRandom(4), daemons: () => 1 },
  );
}

/** The error that rejected it. */
export async function failureOf(promise: Promise<unknown>) {
  const error: unknown = await promise.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!isProviderError(error))
    throw new Error('it was not rejected as it should', { cause: error });
  const { kind, outcome, rateLimit } = error;
  return { kind, outcome, rateLimit, text: explain(error) };
}
