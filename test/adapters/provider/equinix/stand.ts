import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { EquinixConfig } from '../../../../src/adapters/provider/equinix/settings.ts';
import type { FleetProvider, Provider } from '../../../../src/adapters/provider/port.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type {
  Fakequinix,
  FakequinixOptions,
} from '../../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../../src/simulator/fakequinix/world.ts';
import { driven } from '../../../doubles/simulated-clock.ts';
import { type Life, mortal } from '../../../doubles/life.ts';
import { bareFleetOver, fleetOver } from './fleet.ts';
import { configFor, INSTANCE_SET_ID, type Recorded, recordingDeps } from './setup.ts';

export const OURS = [`shepherd-owner-${INSTANCE_SET_ID}`];
export const FOREIGN = ['shepherd-owner-other-00000-000000000000000'];
/** Ids that sort by their number. */
export const reservationId = (n: number) =>
  `4f0c2d9a-7b1e-4c55-9a02-${String(n).padStart(12, '0')}`;
export const live = { signal: new AbortController().signal };

/** The emulator, and the driver on it: bare, and in the core's hands. */
export interface Stand {
  readonly fake: Fakequinix;
  readonly deps: Recorded;
  readonly driver: Provider;
  /** Of which no call lets time pass, as of `bare`. */
  readonly bareDriver: Provider;
  readonly provider: FleetProvider;
  /** Of which no call lets time pass. */
  readonly bare: FleetProvider;
  /** A further provider, as another process has it. */
  another(change?: Partial<EquinixConfig>): FleetProvider;
  /** A daemon of which no call lets time pass; it is never stopped. */
  mortal(life: Life): FleetProvider;
  deviceId(hostname: string): string;
  /** Requests that change something since then, oldest first. */
  changes(afterSeq?: number): string[];
  count(line: string): number;
  lastSeq(): number;
  listed(hostname: string): Promise<ProviderMachine | undefined>;
  close(): Promise<void>;
}

export async function startStand(
  world: unknown,
  {
    config = {},
    fakequinix = {},
  }: { config?: Partial<EquinixConfig>; fakequinix?: Partial<FakequinixOptions> } = {},
): Promise<Stand> {
  const deps = recordingDeps();
  const { clock, network } = deps;
  const fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    profile: 'fast',
    world: parseWorld(world, 'test'),
    timings: { queuedMs: 5, provisioningMs: 40, addressesMs: 10 },
    ...fakequinix,
  });
  const access = { token: () => fake.tokens.user, projectId: fake.projectId };
  const settings = configFor(fake.url, { ...access, ...config });
  const stops: (() => Promise<void>)[] = [];
  const bareDriver = createEquinixProvider(settings, deps);
  const driver = driven(clock, bareDriver);
  stops.push(() => driver.stop());
  const another = (change: Partial<EquinixConfig> = {}) => {
    const made = fleetOver({ ...settings, ...change }, deps);
    stops.push(() => made.stop());
    return made;
  };
  const provider = another();
  const bare = bareFleetOver(settings, deps);
  stops.push(() => bare.stop());
  const line = ({ method, route }: { method: string; route: string | null }) =>
    `${method} ${route}`;

  return {
    fake,
    deps,
    driver,
    bareDriver,
    provider,
    bare,
    another,
    mortal(life) {
      const records = createMemoryRecords(deps.random)(providerName('equinix'));
      return bareFleetOver(settings, { ...deps, ...mortal(life, { clock, network, records }) });
    },
    deviceId: (hostname) => fake.devices().find((each) => each.hostname === hostname)!.id,
    changes: (afterSeq = 0) =>
      fake
        .requests(afterSeq)
        .filter(({ method }) => method !== 'GET')
        .map(line),
    count: (wanted) => fake.requests().filter((each) => line(each) === wanted).length,
    lastSeq: () => fake.requests().at(-1)?.seq ?? 0,
    listed: async (hostname) =>
      (await provider.listMachines(live)).machines.find((each) => each.hostname === hostname),
    async close() {
      await Promise.all(stops.map((stop) => stop()));
      await fake.close();
    },
  };
}
