import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type RobotEmulator,
  startRobotEmulator,
} from '../../../emulators/hetzner-robot/emulator.ts';
import { silentLog } from '../../../emulators/kit/log.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { createGenerator } from '../../../emulators/kit/random.ts';
import { install, INSTALL_MS } from './fault-steps.ts';
import { clientOf, newKey, SERVER, START_MS } from './harness.ts';

/** The emulator, with what is installed played by simulated hosts. */
async function startWithHosts() {
  const dir = mkdtempSync(join(tmpdir(), 'robot-hosts-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const sshPort = await takeFreePort(new Set());
  let fake: RobotEmulator | undefined = undefined as RobotEmulator | undefined;
  const hosts = createSimulatedHosts({
    dir,
    log: silentLog,
    random: createGenerator(1),
    light: true,
    sshPort,
    play: (device, argv) => fake?.play(device, argv),
  });
  onTestFinished(() => hosts.close());
  const clock = createManualClock(START_MS);
  fake = await startRobotEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock,
    sshPort,
    hosts,
  });
  onTestFinished(() => fake.close());
  return { fake, hosts, ...clientOf(fake) };
}

test('simulated hosts play what was installed, where the rescue system was', async () => {
  const robot = await startWithHosts();
  const key = await robot.rescue(newKey());
  const rescue = await robot.shell(key, 'hostname');
  expect(rescue.stdout).toBe('rescue\n');
  expect(robot.hosts.list()).toMatchObject([{ deviceId: String(SERVER), up: false }]);
  await install(robot, key);
  await robot.fake.advance(INSTALL_MS);
  await robot.shell(key, 'reboot');
  await robot.fake.advance(20_000 + 90_000);
  const [host] = robot.hosts.list();
  expect(host).toMatchObject({ up: true, hostname: 'shep-1' });
  expect(robot.machine()).toMatchObject({ phase: 'disk', bootId: host!.bootId });
  const look = 'hostname; cat /proc/sys/kernel/random/boot_id';
  const seen = await robot.shell(key, 'sh -s', look);
  expect(seen).toMatchObject({ stdout: `shep-1\n${host!.bootId}\n`, code: 0 });
  expect(seen.hostKey).toBe(host!.hostKey);
  expect((await robot.shell(key, 'cat /etc/hostname')).stdout).toBe('shep-1\n');
  await robot.shell(key, 'sh -s', 'reboot');
  await robot.fake.advance(20_000 + 90_000);
  const [again] = robot.hosts.list();
  expect(again).toMatchObject({ up: true, seen: { boots: 2 } });
  expect(again!.bootId).not.toBe(host!.bootId);
  await robot.hosts.hang(String(SERVER), true);
  robot.fake.press(SERVER, 'sw');
  await robot.fake.advance(110_000);
  expect(robot.hosts.list()).toMatchObject([{ seen: { boots: 2 } }]);
  robot.fake.press(SERVER, 'hw');
  await robot.fake.advance(90_000);
  expect(robot.hosts.list()).toMatchObject([{ up: true, hanging: false, seen: { boots: 3 } }]);
});
