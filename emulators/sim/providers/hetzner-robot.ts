import { z } from 'zod';
import {
  classifyName,
  machineIdOf,
  serverOfSlot,
  type Prefixes,
} from '../../../src/adapters/provider/hetzner-robot/mapping.ts';
import { CLASS_NAMES } from '../../../src/adapters/provider/hetzner-robot/api.ts';
import {
  deviceOf,
  LOOPBACK,
  MACHINES,
  SIM_SET,
  type SimKind,
  type SimProviderOptions,
} from './provider.ts';

const PREFIXES: Prefixes = { namePrefix: 'shepherd-sim-', freePrefix: 'free-' };
const IMAGE = 'Debian-1301-trixie-amd64-base.tar.gz';

const claimed = z.object({ witness: z.uuid() });

/** The vendor's hour would be too long for a spectator. */
const LIMITS = Object.fromEntries(CLASS_NAMES.map((name) => [name, 1_000_000]));

/** Dedicated servers in an account of the Robot emulator. */
export const hetznerRobotKind: SimKind = {
  onePort: true,
  isKept: false,
  async start({ machines = MACHINES, hosts, sshPort, log }: SimProviderOptions) {
    // Its shell is large, and no other kind needs it.
    const { startRobotEmulator } = await import('../../hetzner-robot/emulator.ts');
    const fake = await startRobotEmulator({
      listen: LOOPBACK,
      servers: machines,
      freePrefix: PREFIXES.freePrefix,
      profile: 'fast',
      sshPort,
      limits: LIMITS,
      hosts,
      log: log.child({ component: 'hetzner-robot-emulator' }),
    });
    const { user, password } = fake.credentials;
    return {
      name: 'hetzner-robot',
      machines,
      secrets: { PASSWORD: password },
      section: (refer) => ({
        driver: 'hetzner-robot',
        baseUrl: fake.url,
        user,
        password: refer('PASSWORD'),
        ...PREFIXES,
        sshKeyName: 'shepherd-sim',
        sshPort: fake.sshPort,
        image: IMAGE,
        instanceSetId: SIM_SET,
        callsPerSecond: 0,
        recoveryMayEraseDisks: true,
        listCache: '1s',
        rescueTimeout: '1m',
        installTimeout: '2m',
        limits: LIMITS,
      }),
      devices: () =>
        fake.servers().flatMap(({ number, name }) => {
          const told = classifyName(name, PREFIXES);
          if (told.kind === 'leaving') return [deviceOf(name)];
          if (told.kind !== 'ours') return [];
          return [deviceOf(machineIdOf(number, told.witness), told.witness)];
        }),
      claims: (records) =>
        records.flatMap(({ key, value }) => {
          const witness = claimed.safeParse(value).data?.witness;
          const server = serverOfSlot(key);
          if (server === null) return [];
          if (witness === undefined) return [deviceOf(`record ${key}`)];
          return [deviceOf(machineIdOf(server, witness), witness)];
        }),
      installs: () => fake.servers().map(({ installs }) => installs),
      requests: () => fake.requests(),
      play: fake.play,
      slotOf: (deviceId) => deviceId,
      close: () => fake.close(),
    };
  },
};
