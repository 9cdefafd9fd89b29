import { expect, test } from 'vitest';
import { becomesTrue, healthy, withFleet } from './simulated-fleet.ts';

const MACHINES = 4;
const signal = () => AbortSignal.timeout(10_000);

test('a simulated fleet comes up, and machines whose agents are killed come back', async () => {
  await withFleet({ machines: MACHINES }, async ({ world, daemon }) => {
    const { fakequinix, hosts } = world;
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run');
    const before = await daemon.bmdb.scan(signal());
    const victims = hosts.list().slice(0, 2);
    const bystander = hosts.list()[3]!;

    await hosts.loseAgent(victims[0]!.deviceId);
    await hosts.hang(victims[1]!.deviceId, true);
    await becomesTrue(() => daemon.board.recoveries() >= 2, 'both are being recovered');
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run again');

    const after = await daemon.bmdb.scan(signal());
    const rowOf = (rows: typeof after, deviceId: string) =>
      rows.machines.find((row) => row.provided?.providerId === deviceId)!;
    for (const { deviceId, bootId } of victims) {
      const now = hosts.list().find((host) => host.deviceId === deviceId)!;
      expect(now.bootId, 'it was rebooted').not.toBe(bootId);
      expect(now.agentPids.length, 'it has an agent again').toBeGreaterThan(0);
      const [old, fresh] = [rowOf(before, deviceId), rowOf(after, deviceId)];
      expect(fresh.machineId, 'it is the same machine').toBe(old.machineId);
      expect(fresh.agentStarted?.publicKey, 'with a new key').not.toBe(old.agentStarted?.publicKey);
      expect(fresh.heartbeat?.bootId).toBe(now.bootId);
      expect(fresh.work, 'nobody holds it').toEqual([]);
      expect(fresh.permit, 'its permit was given back').toBe(false);
    }
    const untouched = hosts.list().find((host) => host.deviceId === bystander.deviceId)!;
    expect(untouched.bootId, 'a healthy machine was left alone').toBe(bystander.bootId);
    expect(fakequinix.devices()).toHaveLength(MACHINES);
    expect(fakequinix.violations()).toEqual([]);
  });
}, 150_000);

test('a machine that refuses SSH after its reboot comes back once it lets us in', async () => {
  await withFleet({ machines: 1 }, async ({ world, daemon }) => {
    const { hosts } = world;
    await becomesTrue(() => healthy(daemon) === 1, 'it runs');
    const { deviceId } = hosts.list()[0]!;
    await hosts.refuseSsh(deviceId, true, 'connection');
    await hosts.loseAgent(deviceId);
    await becomesTrue(() => daemon.board.recoveries() > 0, 'it is being recovered');
    await hosts.refuseSsh(deviceId, false);
    await becomesTrue(() => healthy(daemon) === 1, 'it runs again');
    expect(daemon.board.counts()).toEqual({ Running: 1 });
  });
}, 150_000);
