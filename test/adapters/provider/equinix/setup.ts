import { createMemoryNetwork, type MemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import type { Log } from '../../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import {
  EQUINIX_DEFAULTS,
  type EquinixConfig,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import { createFleetProvider } from '../../../../src/adapters/provider/core/fleet-provider.ts';
import {
  createEquinixProvider,
  type EquinixProviderDeps,
} from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { INSTANCE_SET_ID } from '../driver-stand.ts';

export const TOKEN = 'token-that-must-never-be-seen';
export const PROJECT_ID = '9d1c0000-0000-4000-8000-000000000001';

/** A well-formed Ed25519 line; `mark` makes another key. */
export function publicKeyLine(mark: number, comment = 'shepherd'): string {
  const field = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(Buffer.alloc(32, mark))]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`;
}

/** The settings of an operator, as a configuration writes them. */
export const GIVEN = {
  token: '${TOKEN}',
  username: 'tester',
  projectId: PROJECT_ID,
  devicePrefix: 'shepherd-ci-',
  sshKeyLabel: 'shepherd-ci',
};

export const configFor = (baseUrl: string, change: Partial<EquinixConfig> = {}): EquinixConfig => ({
  ...EQUINIX_DEFAULTS,
  ...GIVEN,
  name: 'equinix',
  baseUrl,
  token: () => TOKEN,
  publicKeyLine: publicKeyLine(1),
  instanceSetId: INSTANCE_SET_ID,
  os: 'ubuntu_22_04',
  apiRateMs: 0,
  ...change,
  timings: { connectTimeoutMs: 600_000, attemptTimeoutMs: 600_000, ...change.timings },
});

export interface Recorded extends EquinixProviderDeps {
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  /** Every delay that was asked for. */
  readonly delaysMs: number[];
  /** Everything logged, as JSON lines. */
  readonly lines: string[];
  readonly calls: { readonly endpoint: string; readonly status: string }[];
}

export function recordingDeps(): Recorded {
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
    metrics: {
      ...silentMetrics,
      equinixCall: (endpoint, status) => void calls.push({ endpoint, status }),
    },
    lines,
    calls,
  };
}

/** The driver in the core's hands, as the fleet has it; its calls let time pass. */
export const fleetOver = (config: EquinixConfig, deps: Recorded): FleetProvider =>
  driven(deps.clock, bareFleetOver(config, deps));

/** The same in time that somebody else lets pass. */
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
  const metrics = { ...silentMetrics, ...deps.metrics };
  return createFleetProvider(createEquinixProvider(config, deps), options, { ...deps, metrics });
}

/** What anybody with access to the project can do to a device. */
export async function setTags(
  { fake, deps }: { readonly fake: Pick<Fakequinix, 'url' | 'tokens'>; readonly deps: Recorded },
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
