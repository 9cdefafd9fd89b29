import { join } from 'node:path';
import { startEquinixEmulator } from '../../equinix/emulator.ts';
import type { EquinixEmulator } from '../../equinix/options.ts';
import type { WorldDescription } from '../../equinix/world.ts';
import type { SimulatedHosts } from '../../hosts/options.ts';
import {
  holdsOthers,
  LOOPBACK,
  MACHINES,
  SIM_SET,
  type SimKind,
  type SimProvider,
  type SimProviderOptions,
} from './provider.ts';

/** Devices on reservations of an Equinix Metal emulator. */
export interface EquinixProvider extends SimProvider {
  readonly emulator: EquinixEmulator;
}

export const equinixKind: SimKind<EquinixProvider> = {
  onePort: false,
  isKept: true,
  async start({ dir, machines, perLocation, hosts, log }: SimProviderOptions) {
    const emulator = await startEquinixEmulator({
      listen: LOOPBACK,
      profile: 'fast',
      reservations: machines ?? MACHINES,
      ...(perLocation !== undefined && { world: racks(machines ?? MACHINES, perLocation) }),
      stateFile: join(dir, 'equinix.json'),
      hooks: hosts,
      log: log.child({ component: 'equinix' }),
    });
    const held = emulator.reservations().length;
    if (machines !== undefined && held !== machines) {
      await emulator.close();
      throw holdsOthers(dir, held, machines);
    }
    return equinixProvider(emulator, hosts);
  },
};

export const equinixProvider = (
  emulator: EquinixEmulator,
  hosts: Pick<SimulatedHosts, 'list'>,
): EquinixProvider => ({
  emulator,
  name: 'equinix',
  get machines() {
    return emulator.reservations().length;
  },
  secrets: { TOKEN: emulator.tokens.project },
  section: (refer) => ({
    driver: 'equinix',
    baseUrl: emulator.url,
    token: refer('TOKEN'),
    username: 'simulation',
    projectId: emulator.projectId,
    devicePrefix: 'shepherd-sim-',
    sshKeyLabel: 'shepherd-sim',
    instanceSetId: SIM_SET,
    callsPerSecond: 0,
    // Simulated disks hold no valuable data.
    recoveryMayEraseDisks: true,
    apiRate: '5ms',
    reservationCacheTimeout: '1s',
    sshPortFromCustomdata: true,
    probeGap: '200ms',
    settle: '2s',
  }),
  devices: () =>
    emulator
      .devices()
      .map(({ id, tags }) => ({
        id,
        isOf: (witness) => tags.some((tag) => tag.endsWith(witness)),
      })),
  // A device is its own claim.
  claims: () => [],
  installs: () => hosts.list().map(({ seen }) => 1 + seen.installs),
  requests: () => emulator.requests(),
  slotOf: (deviceId) =>
    emulator.devices().find(({ id }) => id === deviceId)?.reservationId ?? deviceId,
  close: () => emulator.close(),
});

/** A world with reservations in locations `rack1`, `rack2` … */
function racks(machines: number, perLocation: number): WorldDescription {
  const codes = Array.from(
    { length: Math.ceil(machines / perLocation) },
    (_, at) => `rack${at + 1}`,
  );
  return {
    facilities: codes.map((code) => ({ code, metro: 'fr' })),
    reservations: codes.map((facility, at) => ({
      facility,
      count: Math.min(perLocation, machines - at * perLocation),
    })),
  };
}
