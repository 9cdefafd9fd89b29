import type { RobotConfig } from '../../../../src/adapters/provider/hetzner-robot/settings.ts';
import { createRobotProvider } from '../../../../src/adapters/provider/hetzner-robot/driver.ts';
import { ourName } from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import type {
  CallOptions,
  CreateRequest,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import {
  SECRET_TAG,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { createHash } from 'node:crypto';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { recordingLog, type RecordingLog } from '../../../doubles/recording-log.ts';
import { immortal, type Life } from '../../../doubles/life.ts';
import { callOf as usualCallOf, INSTANCE_SET_ID } from '../driver-stand.ts';
import { createWorld, type World } from './world.ts';

export { INSTANCE_SET_ID } from '../driver-stand.ts';

export const WITNESS = '0b6e0000-1234-4abc-8def-0123456789ab';
export const OTHER_WITNESS = '77770000-1234-4abc-8def-0123456789ab';
export const PREVIOUS_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
export const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g shepherd';

export const CONFIG: RobotConfig = {
  name: 'robot',
  instanceSetId: INSTANCE_SET_ID,
  baseUrl: 'https://robot.example.net',
  user: '#ws+test',
  namePrefix: 'shep-prod-',
  freePrefix: 'free-',
  sshKeyName: 'shepherd',
  drives: 'all',
  sshPort: 22,
  rescueTimeout: 600_000,
  installTimeout: 2_400_000,
  wipe: 'quick',
  listCache: 60_000,
  limits: {},
  plan: {},
};

export const OUR_NAME = ourName(CONFIG, WITNESS);

/** A call of the driver itself; whatever machine it is about is taken for ours. */
export const callOf = (change: Partial<CallOptions> = {}) =>
  usualCallOf({ operationId: WITNESS, ...change });

export const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');

/** An order of the core for a server; each attempt has a secret of its own. */
export function orderOf(
  secret: string,
  {
    server = 321,
    witness = WITNESS,
    ...change
  }: { server?: number; witness?: string } & Partial<CreateRequest> = {},
): CreateRequest {
  const unused = {
    id: null,
    reservationId: String(server),
    plan: 'EX44',
    availability: 'KnownUnused',
  } as unknown as ProviderMachine;
  return {
    unused,
    hostname: `shep-prod-${server}`,
    plan: 'EX44',
    image: 'Debian-1301-trixie-amd64-base.tar.gz',
    tags: { [SET_ID_TAG]: INSTANCE_SET_ID, [WITNESS_TAG]: witness, [SECRET_TAG]: hashOf(secret) },
    initCommand: `#!/bin/sh\nsecret=${secret}`,
    publicKey: PUBLIC_KEY,
    resumed: false,
    onAttempt: async () => undefined,
    ...change,
  };
}

/** An account in memory, and daemons on it. */
export interface Stand {
  readonly clock: VirtualClock;
  readonly world: World;
  readonly log: RecordingLog;
  readonly provider: Provider;
  /** A further daemon, as another process has it. */
  daemon(life?: Life, config?: Partial<RobotConfig>): Provider;
  /** Moves the clock until the task is over. */
  run<T>(task: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  create(secret?: string, provider?: Provider): ReturnType<Provider['createMachine']>;
  /** A machine that is installed and was seen to be. */
  installed(): Promise<string>;
  claim(server?: number): Promise<Readonly<Record<string, unknown>> | undefined>;
}

export function createStand(config: Partial<RobotConfig> = {}, numbers?: readonly number[]): Stand {
  const clock = createSimulatedClock();
  const world = createWorld(clock, numbers);
  const log = recordingLog();
  const daemon = (life: Life = immortal(), more: Partial<RobotConfig> = {}) =>
    createRobotProvider(
      { ...CONFIG, ...config, ...more },
      {
        client: world.client(life),
        shell: world.shell(life),
        records: world.recordsOf(life),
        clock,
        random: createSeededRandom(5),
        log,
        publicKey: () => PUBLIC_KEY,
        previousKeys: () => [PREVIOUS_KEY],
        daemons: () => 1,
      },
    );
  const provider = daemon();
  const stand: Stand = {
    clock,
    world,
    log,
    provider,
    daemon,
    run: (task) => runOut(clock, task),
    pass: (ms) => advance(clock, ms),
    create: (secret = 's1', by = provider) => by.createMachine(orderOf(secret), callOf()),
    async installed() {
      const { id } = await stand.run(stand.create());
      await stand.pass(400_000);
      return id!;
    },
    async claim(server = 321) {
      const rows = await world.records.all(callOf());
      return rows.find(({ key }) => key === String(server))?.value as never;
    },
  };
  return stand;
}
