import { sleep } from '../../../../src/adapters/clock/port.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type {
  CallOptions,
  DriverMachine,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import { redfishDriver } from '../../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../../src/adapters/provider/redfish/settings.ts';
import { startFakefish } from '../../../../src/simulator/fakefish/fakefish.ts';
import type { FaultRule } from '../../../../src/simulator/fakefish/fault-rules.ts';
import type {
  BmcSnapshot,
  Fakefish,
  FakefishOptions,
  SystemSnapshot,
} from '../../../../src/simulator/fakefish/options.ts';
import { explain, isProviderError } from '../../../../src/domain/errors.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { createSteppedClock, settle } from '../equinix/client/stepped-clock.ts';
import { clientOf } from '../../../simulator/fakefish/harness.ts';
import { context } from '../static/stand.ts';

export interface RackOptions {
  readonly fish?: Partial<FakefishOptions>;
  /** Of the configuration, as it is written. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Changes what an entry of the inventory says. */
  readonly entry?: (machine: SystemSnapshot, bmc: BmcSnapshot) => object;
  /** Entries beside those of the emulator. */
  readonly others?: readonly object[];
  readonly password?: string;
  readonly context?: Parameters<typeof context>[0];
}

/** An entry for each system of the emulator. */
export const entriesOf = (fake: Fakefish, change: RackOptions['entry'] = () => ({})): object[] =>
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

/** What is open: while there is anything, something may still come by itself. */
const open = (what: RegExp): number =>
  process.getActiveResourcesInfo().filter((name) => what.test(name)).length;
const SOCKETS = /^(TCPSocket|TCPConnect|TLS)/;
const FILES = /^(FSReq|FileHandle|CloseReq|FILEHANDLE)/i;

const STALLED_TURNS = 300;

/** The driver, as configured, on an emulator, both in one virtual time. */
export async function startRack(options: RackOptions = {}) {
  const clock = createSteppedClock();
  const fake = await startFakefish({
    listen: { host: '127.0.0.1', port: 0 },
    clock,
    ...options.fish,
  });
  const directory = await mkdtemp(join(tmpdir(), 'redfish-rack-'));
  const inventory = join(directory, 'machines.json');
  await writeFile(
    inventory,
    JSON.stringify([...entriesOf(fake, options.entry), ...(options.others ?? [])]),
  );
  const env: Record<string, string> = {
    BMC_PASSWORD: options.password ?? fake.credentials.password,
    SEED_KEY: 's'.repeat(43),
  };
  const settings = redfishDriver
    .settings({ env, baseDirectory: directory, checkFiles: true })
    .parse({
      inventory: `file:${inventory}`,
      credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
      bmcGap: '1ms',
      ...options.settings,
    }) as Settings;
  const log = recordingLog();
  const metrics = createMemMetrics();
  const base = context({ clock, log, metrics, ...options.context });
  const opened: Provider[] = [];
  const openProvider = (change: Parameters<typeof context>[0] = {}) => {
    const provider = redfishDriver.open(settings, { ...base, ...change });
    opened.push(provider);
    return provider;
  };
  const provider = openProvider();
  /** Sockets on which nothing happens for so long wait for time to go by, as an emulator does that is slow. */
  let seen = 0;
  let turns = 0;
  const inFlight = () => {
    if (open(FILES) > 0) return 1;
    const now = open(SOCKETS);
    turns = now === seen ? turns + 1 : 0;
    seen = now;
    return turns > STALLED_TURNS ? 0 : now;
  };
  const inTime = <T>(promise: Promise<T>): Promise<T> => settle(clock, inFlight, promise);
  onTestFinished(async () => {
    await inTime(Promise.all(opened.map((each) => each.stop())));
    await fake.close();
    await rm(directory, { recursive: true });
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

  const raw = clientOf(fake);
  return {
    fake,
    /** A client that knows nothing of the driver. */
    raw,
    clock,
    provider,
    open: openProvider,
    log,
    metrics,
    env,
    inventory,
    settings,
    asked,
    call,
    inTime,
    path,
    id: 'system-1',
    /** Requests of this method that the BMCs saw. */
    sent,
    /** The bodies of resets, in order. */
    resets: () =>
      sent('POST')
        .filter(({ route }) => route.endsWith('ComputerSystem.Reset'))
        .map(({ body }) => (body as { ResetType: string }).ResetType),
    fault: (effect: FaultRule['effect'], rest: Omit<FaultRule, 'effect'> = {}) =>
      fake.addFault({ ...rest, effect }),
    system: () => fake.bmcs()[0]!.systems[0]!,
    /** On, with its operating system running. */
    async boot(name = 'system-1') {
      fake.reset(name, 'On');
      clock.advance(62_000);
      await new Promise((resolve) => setImmediate(resolve));
    },
    reboot: (mode: 'graceful' | 'force' = 'graceful', how = call()) =>
      inTime(provider.rebootMachine('system-1', mode, how)),
    power: (want: 'on' | 'off', how = call()) => inTime(provider.setPower!('system-1', want, how)),
    get: (id = 'system-1') => inTime(provider.getMachine(id, call())),
    list: () => inTime(provider.listMachines({}, call())),
    prepare: () => inTime(provider.prepare!(call())),
    /** As time goes by, with whatever falls due. */
    after: (ms: number) => inTime(sleep(clock, ms)),
  };
}

export type Rack = Awaited<ReturnType<typeof startRack>>;

/** What it was rejected with. */
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
