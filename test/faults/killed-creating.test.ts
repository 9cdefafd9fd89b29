import { expect, test, vi } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { writeSimConfig } from '../../src/commands/sim-config-file.ts';
import { hetznerRobotKind } from '../../src/commands/sim-providers/hetzner-robot.ts';
import { latitudeKind } from '../../src/commands/sim-providers/latitude.ts';
import { redfishKind } from '../../src/commands/sim-providers/redfish.ts';
import {
  openWorldOn,
  parseSimConfig,
  simInput,
  type SimWorld,
} from '../../src/commands/sim-world.ts';
import { leakedIn, SIM_TUNING } from '../../src/commands/sim.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
import { shepherd, type Started } from '../e2e/commands.ts';
import { becomesTrue, healthy, PATIENT_AGENTS } from '../e2e/simulated-fleet.ts';
import { openTestDatabase } from '../support/test-database.ts';

/** A few for each run of the tests; a run by hand can take more. */
const MACHINES = Number(process.env['SHEPHERD_TEST_KILLED_MACHINES'] ?? 4);
const KILLS = 3;
/** A creation that was cut off may wait for a minute until it is clear that nothing comes any more. */
const PATIENT = { timeout: 1_200_000, interval: 250 };

/** They mostly wait, so all at once. */
test.concurrent.each([
  ['redfish', redfishKind],
  ['hetzner-robot', hetznerRobotKind],
  ['latitude', latitudeKind],
] as const)(
  '%s: a daemon that is killed three times while it makes machines takes, installs and forgets none twice',
  async (_name, kind) => {
    const world = await openWorldOn(kind, { machines: MACHINES, light: true, log: silentLog });
    const database = await openTestDatabase();
    const env = { SHEPHERD_TEST_DATABASE: database.url };
    const overrides = await overridesOf();
    const file = writeSimConfig(world, overrides);
    try {
      for (let kill = 1; kill <= KILLS; kill++) {
        const daemon = shepherd(['run', '--config', file], env);
        try {
          await makesSome(world, daemon);
        } finally {
          daemon.child.kill('SIGKILL');
          await daemon.ended;
        }
      }
      await expectAllOnce(world, { ...simInput(world), ...overrides }, env);
    } finally {
      await world.close();
      await database.stop();
    }
  },
  2_400_000,
);

/** Agents find every daemon where the one before it was. */
async function overridesOf() {
  const ports = new Set<number>();
  const agents = `127.0.0.1:${await takeFreePort(ports)}`;
  return {
    database: { url: '${SHEPHERD_TEST_DATABASE}' },
    console: { listen: `127.0.0.1:${await takeFreePort(ports)}` },
    agentServer: { listen: agents, devCertificates: { dir: 'certificates' } },
    agent: PATIENT_AGENTS,
  };
}

const changes = ({ provider }: SimWorld): number =>
  provider.requests().filter(({ method }) => method !== 'GET').length;

/**
 * Any moment of the creations, by what they have changed at the vendor, or by time where they only wait:
 * from the first request of this daemon on, however long it took to start.
 */
async function makesSome(world: SimWorld, { ended }: Started): Promise<void> {
  const enough = changes(world) + 1 + Math.floor(Math.random() * 2 * MACHINES);
  const forMs = 5_000 + Math.random() * 10_000;
  const asked = world.provider.requests().length;
  let beganMs: number | null = null;
  const isDue = () => {
    if (world.provider.requests().length > asked) beganMs ??= performance.now();
    return changes(world) >= enough || (beganMs !== null && performance.now() >= beganMs + forMs);
  };
  const failed = ended.then(({ code, stderr }): never => {
    throw new Error(`the daemon ended by itself with ${code}: ${stderr}`);
  });
  failed.catch(() => undefined);
  await Promise.race([becomesTrue(isDue, 'machines are being made'), failed]);
}

async function expectAllOnce(
  world: SimWorld,
  input: Parameters<typeof parseSimConfig>[1],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const daemon = await startDaemon({
    config: parseSimConfig(world, input, env),
    ports: await realPorts({ version: '0.0.0', log: silentLog }),
    version: '0.0.0',
    tuning: SIM_TUNING,
  });
  try {
    await vi.waitFor(() => expect(healthy(daemon), 'machines run').toBe(MACHINES), PATIENT);
    expect(await leakedIn(world, daemon), 'none is forgotten').toEqual([]);
    const { machines, intents } = await daemon.bmdb.scan(AbortSignal.timeout(240_000));
    const ids = new Set(machines.map(({ provided }) => provided?.providerId));
    expect([machines.length, ids.size, intents.length]).toEqual([MACHINES, MACHINES, 0]);
    expect(world.provider.installs(), 'none is installed twice').toEqual(
      Array.from({ length: MACHINES }, () => 1),
    );
    expect(world.hosts.list()).toHaveLength(MACHINES);
  } finally {
    await daemon.stop();
  }
}
