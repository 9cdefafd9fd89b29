import { expect, test } from 'vitest';
import { becomesTrue, healthy, withFleet } from './simulated-fleet.ts';

const MACHINES = 4;
const signal = () => AbortSignal.timeout(60_000);

test('a simulated fleet comes up, and what falls silent comes back by the mildest means', async () => {
  await withFleet({ machines: MACHINES }, async ({ world, daemon }) => {
    const { fakequinix, hosts } = world;
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run');
    const before = await daemon.bmdb.scan(signal());
    const victims = hosts.list().slice(0, 2);
    const [dead, hung] = victims.map(({ deviceId }) => deviceId) as [string, string];
    const bystander = hosts.list()[3]!;

    await hosts.loseAgent(dead);
    await hosts.hang(hung, true);
    const hostOf = (deviceId: string) => hosts.list().find((host) => host.deviceId === deviceId)!;
    await becomesTrue(() => hostOf(dead).agents > 0, 'the dead agent is restarted');
    await becomesTrue(() => hostOf(hung).seen.boots > 1, 'the machine that hangs is rebooted');
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run again');
    expect(hostOf(dead).bootId, 'its machine was in good health').toBe(victims[0]!.bootId);
    expect(hostOf(hung).bootId, 'it was rebooted').not.toBe(victims[1]!.bootId);

    const after = await daemon.bmdb.scan(signal());
    const rowOf = (rows: typeof after, deviceId: string) =>
      rows.machines.find((row) => row.provided?.providerId === deviceId)!;
    for (const { deviceId } of victims) {
      const now = hostOf(deviceId);
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
}, 600_000);

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
}, 600_000);
