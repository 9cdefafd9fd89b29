import { expect, onTestFinished } from 'vitest';
import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/driver.ts';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/stand-ins.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { EquinixConfig } from '../../../../src/adapters/provider/equinix/settings.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import type { EquinixEmulatorOptions } from '../../../../emulators/equinix/options.ts';
import { parseWorld } from '../../../../emulators/equinix/world.ts';
import { driven, runOut } from '../../../doubles/simulated-clock.ts';
import { type DaemonLife, mortal } from '../../../doubles/life.ts';
import { INSTANCE_SET_ID, journalOf, live } from '../driver-stand.ts';
import { bareFleetOver, configFor, fleetOver, recordingDeps, startEmulator } from './setup.ts';

export const OURS = [`shepherd-owner-${INSTANCE_SET_ID}`];
export const FOREIGN = ['shepherd-owner-other-00000-000000000000000'];
/** Ids that sort by their number. */
export const reservationId = (n: number) =>
  `4f0c2d9a-7b1e-4c55-9a02-${String(n).padStart(12, '0')}`;

/** The emulator with the driver, bare and inside the core's wrapper. */
export async function startStand(
  world: unknown,
  {
    config = {},
    emulator = {},
  }: { config?: Partial<EquinixConfig>; emulator?: Partial<EquinixEmulatorOptions> } = {},
) {
  const deps = recordingDeps();
  const { clock, network } = deps;
  const fake = await startEmulator(deps, { world: parseWorld(world, 'test'), ...emulator });
  const access = { token: () => fake.tokens.user, projectId: fake.projectId };
  const settings = configFor(fake.url, { ...access, ...config });
  const bareDriver = createEquinixProvider(settings, deps);
  const stops: { stop(): Promise<void> }[] = [bareDriver];
  const another = (change: Partial<EquinixConfig> = {}): FleetProvider => {
    const made = fleetOver({ ...settings, ...change }, deps);
    stops.push(made);
    return made;
  };
  const provider = another();
  onTestFinished(async () => {
    await runOut(clock, Promise.all(stops.map((each) => each.stop())));
    await fake.close();
    expect(fake.violations()).toEqual([]);
  });
  return {
    ...journalOf(fake),
    fake,
    deps,
    driver: driven(clock, bareDriver),
    /** Its calls let no time pass. */
    bareDriver,
    provider,
    /** Another provider, as in another process. */
    another,
    /** A daemon whose calls let no time pass. It is never stopped. */
    mortal(life: DaemonLife): FleetProvider {
      const records = createMemoryRecords(deps.random)(providerName('equinix'));
      return bareFleetOver(settings, { ...deps, ...mortal(life, { clock, network, records }) });
    },
    deviceId: (hostname: string) => fake.devices().find((each) => each.hostname === hostname)!.id,
    listed: async (hostname: string): Promise<ProviderMachine | undefined> =>
      (await provider.listMachines(live)).machines.find((each) => each.hostname === hostname),
  };
}
export type EquinixStand = Awaited<ReturnType<typeof startStand>>;
