import { expect, test } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { usedRedfishKind } from '../../emulators/sim/providers/redfish.ts';
import { leakedIn } from '../../emulators/sim/sim.ts';
import { openWorldOn } from '../../emulators/sim/world.ts';
import { becomesTrue, healthy, withFleetIn } from '../e2e/simulated-fleet.ts';

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
