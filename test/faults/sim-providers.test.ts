import { expect, test } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { usedRedfishKind } from '../../emulators/sim/providers/redfish.ts';
import { usedRobotKind } from '../../emulators/sim/providers/hetzner-robot.ts';
import { SIM_SET } from '../../emulators/sim/providers/provider.ts';
import { leakedIn, SIM_TUNING } from '../../emulators/sim/sim.ts';
import { openWorldOn, simConfig } from '../../emulators/sim/world.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { programVersion } from '../../src/commands/version.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { becomesTrue, healthy, PATIENT_AGENTS, withFleetIn } from '../e2e/simulated-fleet.ts';

const MACHINES = 3;

test('redfish: starts a rack, and power cycles a machine that hangs', async () => {
  const open = (hardware: object) =>
    openWorldOn(usedRedfishKind, { ...hardware, light: true, log: silentLog });
  await withFleetIn(open, { machines: MACHINES }, async ({ world, daemon }) => {
    const { hosts, provider } = world;
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run');
    expect(await leakedIn(world, daemon)).toEqual([]);
    const [hung, bystander] = hosts.list();
    const resets = () =>
      provider.emulator.requests().filter(({ path }) => path.endsWith('ComputerSystem.Reset'));
    expect(resets(), 'taking machines in switches nothing').toEqual([]);

    await hosts.hang(hung!.deviceId, true);
    const now = (deviceId: string) => hosts.list().find((host) => host.deviceId === deviceId)!;
    await becomesTrue(() => now(hung!.deviceId).bootId !== hung!.bootId, 'it boots anew');
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run again');
    const bmcs = new Set(resets().map(({ bmc }) => bmc));
    const own = provider.emulator
      .bmcs()
      .find(({ systems }) => systems.some(({ name }) => name === hung!.deviceId))!;
    expect([...bmcs], 'its own BMC was asked, and no other').toEqual([own.name]);
    expect(now(bystander!.deviceId).bootId).toBe(bystander!.bootId);
    const { heartbeat } = (await daemon.bmdb.scan(AbortSignal.timeout(240_000))).machines.find(
      ({ provided }) => provided?.providerId === provider.slotOf(hung!.deviceId),
    )!;
    expect(heartbeat?.bootId, 'the evidence').toBe(now(hung!.deviceId).bootId);
    for (const { requestsMost, sessionsMost } of provider.emulator.bmcs()) {
      expect(requestsMost, 'one request at a time').toBe(1);
      expect(sessionsMost, 'one session').toBeLessThanOrEqual(1);
    }
  });
}, 1_800_000);

const rowsOf = async ({ bmdb }: Daemon) =>
  (await bmdb.scan(AbortSignal.timeout(240_000))).machines.toSorted((one, other) =>
    one.machineId < other.machineId ? -1 : 1,
  );

test('a list of hosts becomes adopted servers without downtime, and one that hangs is reset', async () => {
  let isRobot = false;
  const open = async (hardware: object) => {
    const world = await openWorldOn(usedRobotKind, { ...hardware, light: true, log: silentLog });
    const { section } = world.provider;
    // The same file serves both drivers.
    const list = { driver: 'static', inventory: 'file:servers.json', instanceSetId: SIM_SET };
    const provider = {
      ...world.provider,
      section: (refer: (secret: string) => string) => (isRobot ? section(refer) : list),
    };
    // Agents know the port of the first daemon.
    return { ...world, provider, agentPort: await takeFreePort(new Set()) };
  };
  await withFleetIn(open, { machines: MACHINES, embedded: true }, async ({ world, daemon }) => {
    const { hosts, provider } = world;
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all hosts run');
    const before = await rowsOf(daemon);
    await daemon.stop();
    isRobot = true;
    const version = programVersion();
    const next = await startDaemon({
      config: simConfig(world, { agent: PATIENT_AGENTS, console: { listen: '127.0.0.1:0' } }),
      ports: await realPorts({ version, log: silentLog }),
      ...{ version, tuning: SIM_TUNING },
    });
    try {
      await becomesTrue(() => healthy(next) === MACHINES, 'all servers run');
      const known = (rows: typeof before) =>
        rows.map(({ machineId, provided, agentStarted, hostKey }) => ({
          ...{ machineId, id: provided?.providerId, agentStarted, hostKey },
        }));
      expect(known(await rowsOf(next)), 'the same machines and agents').toEqual(known(before));
      const changes = () => provider.emulator.requests().filter(({ method }) => method !== 'GET');
      expect(changes()).toEqual([]);

      const [hung, bystander] = hosts.list();
      const now = (deviceId: string) => hosts.list().find((host) => host.deviceId === deviceId)!;
      await hosts.hang(hung!.deviceId, true);
      await becomesTrue(() => now(hung!.deviceId).bootId !== hung!.bootId, 'it boots anew');
      await becomesTrue(() => healthy(next) === MACHINES, 'all servers run again');
      expect(new Set(changes().map(({ method, path }) => `${method} ${path}`))).toEqual(
        new Set([`POST /reset/${hung!.deviceId}`]),
      );
      expect(now(bystander!.deviceId).bootId).toBe(bystander!.bootId);
      expect(provider.installs(), 'nothing was ever installed').toEqual([0, 0, 0]);
      expect(await leakedIn(world, next)).toEqual([]);
      const heard = (await rowsOf(next)).find(
        ({ provided }) => provided?.providerId === hung!.deviceId,
      );
      expect(heard?.heartbeat?.bootId, 'the evidence').toBe(now(hung!.deviceId).bootId);
    } finally {
      await next.stop();
    }
  });
}, 1_800_000);
