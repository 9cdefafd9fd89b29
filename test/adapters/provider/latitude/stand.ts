import { expect, onTestFinished } from 'vitest';
import {
  createFleetProvider,
  type FleetProviderOptions,
} from '../../../../src/adapters/driver-kit/fleet-provider.ts';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/memory-shell.ts';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import {
  hostnameOf,
  type LatitudeSettings,
} from '../../../../src/adapters/provider/latitude/settings.ts';
import type {
  FleetCreateRequest,
  FleetProvider,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import { providerName, type Witness, witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import type { LatitudeFaultRule } from '../../../../emulators/latitude/api.ts';
import {
  type LatitudeEmulatorOptions,
  startLatitudeEmulator,
} from '../../../../emulators/latitude/emulator.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import { immortal, type DaemonLife, mortal } from '../../../doubles/life.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  runOut,
} from '../../../doubles/simulated-clock.ts';
import { driverContext, journalOf, live, publicKeyLine } from '../driver-stand.ts';

export { callOf, INSTANCE_SET_ID as SET, live } from '../driver-stand.ts';
export const OTHER_SET = 'other-ci000-000000000000000';
export const PREFIX = 'shep-';
export const PLAN = 'c3-small-x86';
export const SITE = 'ASH';
export const slotOf = (n: number) => `${PLAN}/${SITE}/${n}`;
export const nameOf = (n: number) => hostnameOf(slotOf(n), PREFIX);
export const KEY = publicKeyLine(1, 'somebody@a-private-place');
export const witnessOf = (n: number): Witness =>
  witness(`0b6e0000-0000-4000-8000-${String(n).padStart(12, '0')}`);
export const HOUR_MS = 3_600_000;

interface LatitudeStandOptions {
  readonly settings: object;
  readonly daemons: number;
  readonly previousKeys: readonly string[];
  readonly life: DaemonLife;
  readonly fleet: Partial<FleetProviderOptions>;
}

/** A resource of the API. */
interface ApiResource {
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A fault at the next request of a line of the journal. */
export function faultAt(line: string, effect: LatitudeFaultRule['effect']): LatitudeFaultRule {
  const [method = '', route = ''] = line.split(' ');
  return { match: { method, route }, times: 1, effect };
}

/** The emulator and the driver, both in the same virtual time. */
export async function startStand(
  options: Partial<LatitudeEmulatorOptions> = {},
  usual: object = {},
) {
  const clock = createSimulatedClock();
  const network = createMemoryNetwork(clock);
  const listen = { host: '127.0.0.1', port: 0, network };
  const fake = await startLatitudeEmulator({ listen, clock, ...options });
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
  const run = <T>(task: Promise<T>): Promise<T> => runOut(clock, task);

  function contextOf({ life = immortal(), ...change }: Partial<LatitudeStandOptions>) {
    const { daemons = 1, previousKeys = [] } = change;
    const random = createSeededRandom(7);
    const records = createMemoryRecords(random)(providerName('latitude'));
    return driverContext('latitude', {
      ...{ random, log, publicKey: KEY, previousKeys },
      ...mortal(life, { clock, network, records }),
      daemons: () => daemons,
    });
  }
  /** The driver alone. Further drivers are other processes. */
  function open(change: Partial<LatitudeStandOptions> = {}, context = contextOf(change)): Provider {
    const given = {
      ...{ baseUrl: fake.url, token: '${TOKEN}', project: fake.project, namePrefix: PREFIX },
      ...{ sshKeyName: 'shepherd', slots: [{ plan: PLAN, site: SITE, count: 2 }] },
      ...usual,
      ...change.settings,
    };
    const provider = latitudeDriver.open(schema.parse(given) as LatitudeSettings, context);
    // A dead driver is never stopped: its connections end with the emulator.
    stops.push(async () => {
      if (!change.life?.isDead) await provider.stop();
    });
    return provider;
  }
  /** The driver inside the core's wrapper. */
  function fleet(change: Partial<LatitudeStandOptions> = {}): FleetProvider {
    const context = contextOf(change);
    const { name, instanceSetId } = context;
    const own = { name, type: 'latitude', instanceSetId, sharedTags: {}, image: null };
    const more = { initCommand: 'echo site', publicKey: KEY, ...change.fleet };
    const deps = { ...context, random: createSeededRandom(11) };
    return createFleetProvider(open(change, context), { ...own, ...more }, deps);
  }

  async function free(provider: FleetProvider, n = 1): Promise<ProviderMachine> {
    const { machines } = await run(provider.listMachines(live));
    const found = machines.find(({ reservationId }) => reservationId === slotOf(n));
    if (!found) throw new Error(`slot ${n} is not listed`);
    return found;
  }
  /** An order for a slot, by default the first. @param n number of the creation key. */
  async function orderFor(
    provider: FleetProvider,
    change: Partial<FleetCreateRequest> & { readonly n?: number; readonly slot?: number } = {},
  ): Promise<FleetCreateRequest> {
    const { slot = 1, n = slot, unused = await free(provider, slot), ...more } = change;
    return { unused, hostname: nameOf(slot), witness: witnessOf(n), ...more };
  }

  /** A request by anybody with the key. Returns the data of the reply. */
  async function api(method: string, path: string, attributes?: object, type?: string) {
    const response = await network.fetch(`${fake.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${fake.token}`, 'Content-Type': 'application/json' },
      ...(attributes && { body: JSON.stringify({ data: { type, attributes } }) }),
    });
    const text = await response.text();
    const { data } = JSON.parse(text || '{"data":[]}') as { data: ApiResource | ApiResource[] };
    return [data].flat();
  }
  const write = (attributes: object) =>
    api('POST', '/user_data', { ...attributes, project: fake.project }, 'user_data');

  return {
    ...journalOf(fake),
    ...{ fake, clock, network, log, open, run, free, fleet, orderFor, api, write },
    wait: (forMs: number) => advance(clock, forMs),
    /** Awaits a call that must fail with this error. */
    fails: (call: Promise<unknown>, error: object) =>
      expect(run(call)).rejects.toMatchObject(error),
    machines: async (provider: FleetProvider) => (await run(provider.listMachines(live))).machines,
    sweep: async (provider: FleetProvider, dryRun = false) =>
      (await run(provider.sweep({ ...live, dryRun }))).removed,
    /** A creation whose daemon dies as soon as the record is written. */
    async abandon(): Promise<FleetCreateRequest> {
      const dead = fleet();
      const order = await orderFor(dead);
      const onAttempt = () => new Promise<never>(() => undefined);
      void dead.createMachine({ ...order, onAttempt }, live).catch(() => null);
      await advance(clock, 1_000);
      return order;
    },
    /** Our installed machine on a slot. */
    async made(provider: FleetProvider, slot = 1) {
      const machine = await run(provider.createMachine(await orderFor(provider, { slot }), live));
      await advance(clock, 20 * 60_000);
      return machine;
    },
    /** A foreign server takes a name. */
    stranger: (hostname: string) => fake.addStranger(hostname),
    /** A foreign record claims a name for a set. */
    async claim(set: string, hostname: string, text = '#cloud-config\n{}\n') {
      const description = `shepherd ${set} ${hostname} ${witnessOf(9)}`;
      const content = Buffer.from(text).toString('base64');
      return (await write({ description, content }))[0]!.id;
    },
  };
}
export type LatitudeStand = Awaited<ReturnType<typeof startStand>>;

/** Our machine, up and running. */
export async function startWithMachine(usual: object = {}) {
  const stand = await startStand({}, usual);
  const provider = stand.fleet();
  const id = (await stand.made(provider)).id!;
  return {
    stand,
    provider,
    id,
    read: () => stand.run(provider.getMachine(id, live)),
    reboot: () => provider.rebootMachine(id, 'force', live),
    setPower: (want: 'on' | 'off') => provider.setPower(id, want, live),
    reinstall: () => provider.reinstallMachine(id, live),
    giveBack: () => stand.run(provider.deprovisionMachine(id, live)),
    isReusable: () => stand.run(provider.isReusable(slotOf(1), live)),
    seq: stand.lastSeq(),
  };
}
