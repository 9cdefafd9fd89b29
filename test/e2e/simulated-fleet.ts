import { programVersion } from '../../src/commands/version.ts';
import { expect, vi } from 'vitest';
import { type Log, silentLog } from '../../src/adapters/log/port.ts';
import { openSimWorld, parseSimConfig, simInput } from '../../emulators/sim/world.ts';
import type { EquinixWorld, SimWorld } from '../../emulators/sim/world.ts';
import { SIM_TUNING } from '../../emulators/sim/sim.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import type { EquinixFaultRule } from '../../emulators/equinix/fault-rules.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { WAIT } from './commands.ts';

export interface SimulatedFleet {
  readonly world: EquinixWorld;
  readonly daemon: Daemon;
}

export interface FleetOptions {
  readonly machines: number;
  readonly faults?: readonly EquinixFaultRule[];
  /** Size of the agents' installation disk; without it they find none. */
  readonly diskBytes?: number;
  /** The daemon's. */
  readonly log?: Log;
  /** Of the daemon's configuration, each with one secret. */
  readonly webhooks?: Readonly<Record<string, { url: string; types?: string[]; secret: string }>>;
  /** Whether the daemon embeds its database in the world's directory, or uses the test run's. */
  readonly embedded?: boolean;
}

/** A whole simulated fleet with its daemon; everything closes after `use`. */
export async function withFleet(
  { faults = [], ...options }: FleetOptions,
  use: (fleet: SimulatedFleet) => Promise<void>,
): Promise<void> {
  const open = async (hardware: Hardware) => {
    const world = await openSimWorld({ ...hardware, log: silentLog });
    for (const fault of faults) world.emulator.addFault(fault);
    return world;
  };
  await withFleetIn(open, options, use);
}

type Hardware = Pick<FleetOptions, 'machines' | 'diskBytes'>;

/** The same in a world of any provider. */
export async function withFleetIn<World extends SimWorld>(
  open: (hardware: Hardware) => Promise<World>,
  { log = silentLog, embedded = false, webhooks = {}, ...hardware }: Omit<FleetOptions, 'faults'>,
  use: (fleet: { readonly world: World; readonly daemon: Daemon }) => Promise<void>,
): Promise<void> {
  const world = await open(hardware);
  const database = embedded ? null : await openTestDatabase();
  try {
    const daemon = await startDaemon({
      config: parseSimConfig(
        world,
        {
          ...simInput(world),
          agent: PATIENT_AGENTS,
          ...(database && { database: { url: `\${${DATABASE}}` } }),
          console: { listen: '127.0.0.1:0' },
          webhooks: Object.fromEntries(
            Object.entries(webhooks).map(([name, { secret: _, ...webhook }]) => [
              name,
              { ...webhook, secrets: [`\${SECRET_OF_${name}}`] },
            ]),
          ),
        },
        {
          ...(database && { [DATABASE]: database.url }),
          ...Object.fromEntries(
            Object.entries(webhooks).map(([name, { secret }]) => [`SECRET_OF_${name}`, secret]),
          ),
        },
      ),
      ports: await realPorts({ version: programVersion(), log }),
      version: programVersion(),
      tuning: SIM_TUNING,
    });
    try {
      await use({ world, daemon });
    } finally {
      await daemon.stop();
    }
  } finally {
    await world.close();
    await database?.stop();
  }
}

const DATABASE = 'SHEPHERD_TEST_DATABASE';

/** Agents of a busy machine are late sometimes: only those under a fault count as silent. */
export const PATIENT_AGENTS = {
  heartbeatPeriod: '1s',
  heartbeatDeadline: '15s',
  firstHeartbeatDeadline: '40s',
};

export { WAIT };

export const becomesTrue = (question: () => boolean | Promise<boolean>, what: string) =>
  vi.waitFor(async () => expect(await question(), what).toBe(true), WAIT);

/** Number of machines that run and have reported in time. */
export const healthy = ({ board }: Daemon): number =>
  [...board.entries.values()].filter(
    ({ state, substate }) => state === 'Running' && substate === 'healthy',
  ).length;
