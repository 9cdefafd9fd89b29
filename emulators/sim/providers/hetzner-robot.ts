import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  classifyName,
  machineIdOf,
  serverOfSlot,
  type Prefixes,
} from '../../../src/adapters/provider/hetzner-robot/mapping.ts';
import { CLASS_NAMES } from '../../../src/adapters/provider/hetzner-robot/api.ts';
import type { RobotEmulator, RobotEmulatorOptions } from '../../hetzner-robot/emulator.ts';
import {
  deviceOf,
  LOOPBACK,
  MACHINES,
  SIM_SET,
  type SimKind,
  type SimProvider,
  type SimProviderOptions,
} from './provider.ts';

const PREFIXES: Prefixes = { namePrefix: 'shepherd-sim-', freePrefix: 'free-' };
const IMAGE = 'Debian-1301-trixie-amd64-base.tar.gz';

const claimed = z.object({ witness: z.uuid() });

/** The vendor's hour would be too long for a spectator. */
const LIMITS = Object.fromEntries(CLASS_NAMES.map((name) => [name, 1_000_000]));

/** An account of the Robot emulator. Its shell is large, and no other kind needs it. */
async function startAccount(
  { hosts, sshPort, log }: SimProviderOptions,
  servers: RobotEmulatorOptions['servers'],
) {
  const { startRobotEmulator } = await import('../../hetzner-robot/emulator.ts');
  const fake = await startRobotEmulator({
    ...{ listen: LOOPBACK, profile: 'fast', limits: LIMITS, sshPort, hosts },
    ...{ servers: servers ?? MACHINES, freePrefix: PREFIXES.freePrefix },
    log: log.child({ component: 'hetzner-robot-emulator' }),
  });
  return {
    fake,
    /** The common part, with and without installations. */
    provider: {
      name: 'hetzner-robot',
      machines: fake.servers().length,
      secrets: { PASSWORD: fake.credentials.password },
      section: (refer: (secret: string) => string) => ({
        driver: 'hetzner-robot' as const,
        baseUrl: fake.url,
        user: fake.credentials.user,
        password: refer('PASSWORD'),
        sshPort: fake.sshPort,
        instanceSetId: SIM_SET,
        callsPerSecond: 0,
        recoveryMayEraseDisks: true,
        listCache: '1s',
        limits: LIMITS,
      }),
      installs: () => fake.servers().map(({ installs }) => installs),
      requests: () => fake.requests(),
      play: fake.play,
      slotOf: (deviceId: string) => deviceId,
      close: () => fake.close(),
    },
  };
}

/** Dedicated servers in an account of the Robot emulator. */
export const hetznerRobotKind: SimKind = {
  onePort: true,
  isKept: false,
  async start(options: SimProviderOptions) {
    const { fake, provider } = await startAccount(options, options.machines);
    return {
      ...provider,
      section: (refer) => ({
        ...provider.section(refer),
        ...PREFIXES,
        sshKeyName: 'shepherd-sim',
        image: IMAGE,
        rescueTimeout: '1m',
        installTimeout: '2m',
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
    };
  },
};

/** Below the directory of the fleet. */
const ADOPTED = 'servers.json';

export interface UsedRobotProvider extends SimProvider {
  readonly emulator: RobotEmulator;
}

/** Servers that already run a system: the fleet adopts them unchanged. */
export const usedRobotKind: SimKind<UsedRobotProvider> = {
  onePort: true,
  isKept: false,
  async start(options: SimProviderOptions) {
    const { dir, hosts, machines = MACHINES, publicLine } = options;
    const servers = Array.from({ length: machines }, (_, n) => ({
      ...({ name: `web-${n + 1}`, first: 'host', keys: [publicLine] } as const),
      resetTypes: ['sw', 'hw', 'power', 'power_long', 'man'] as const,
    }));
    const { fake, provider } = await startAccount(options, servers);
    const keys = new Map(hosts.list().map((host) => [host.deviceId, host.hostKey]));
    const entries = fake
      .servers()
      .map(({ number, address }) => ({
        ...{ ID: String(number), Addr: address, Location: '' },
        HostKey: `ssh-ed25519 ${keys.get(String(number))}`,
      }));
    writeFileSync(join(dir, ADOPTED), JSON.stringify(entries), { mode: 0o600 });
    return {
      ...provider,
      emulator: fake,
      section: (refer) => ({ ...provider.section(refer), adopt: `file:${ADOPTED}` }),
      // The servers existed before the fleet, which installs and claims none.
      devices: () =>
        fake
          .servers()
          .flatMap(({ number, installs }) => (installs > 0 ? deviceOf(String(number)) : [])),
      claims: (records) =>
        records.flatMap(({ key }) =>
          serverOfSlot(key) === null ? [] : [deviceOf(`record ${key}`)],
        ),
    };
  },
};
