import { expect, test } from 'vitest';
import { arm, reset } from './fault-steps.ts';
import { type Robot, SERVER, startRobot } from './harness.ts';

const ALL = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
const start = (first: 'stranger' | 'nothing' = 'stranger') =>
  startRobot({ servers: [{ resetTypes: ALL, first }] });
const statusOf = async ({ get }: Robot): Promise<string> =>
  ((await get(`/reset/${SERVER}`)) as { reset: { operating_status: string } }).reset
    .operating_status;
const GRACE_MS = 20_000;
const DISK_MS = 90_000;

test('obeys sw only with a living kernel, hw always', async () => {
  const robot = await start();
  const { bootId } = robot.machine();
  await reset(robot, 'sw');
  await robot.fake.advance(GRACE_MS + DISK_MS - 1);
  expect(robot.machine()).toMatchObject({ phase: 'starting', bootId: null });
  await robot.fake.advance(1);
  expect(robot.machine().phase).toBe('disk');
  expect(robot.machine().bootId).not.toBe(bootId);
  robot.fake.crash(SERVER);
  await reset(robot, 'sw');
  await robot.fake.advance(GRACE_MS + DISK_MS);
  expect(robot.machine()).toMatchObject({ phase: 'disk', boots: 2 });
  await reset(robot, 'hw');
  await robot.fake.advance(DISK_MS);
  expect(robot.machine()).toMatchObject({ phase: 'disk', boots: 3 });
  await reset(robot, 'sw');
  await robot.fake.advance(GRACE_MS + DISK_MS);
  expect(robot.machine().boots).toBe(4);
});

test('power shuts a living system down or turns a machine on; power_long turns it off', async () => {
  const robot = await start();
  expect(await statusOf(robot)).toBe('running');
  await reset(robot, 'power');
  await robot.fake.advance(GRACE_MS - 1);
  expect(robot.machine().power).toBe('on');
  await robot.fake.advance(1);
  expect(robot.machine()).toMatchObject({ power: 'off', phase: 'off' });
  expect(await statusOf(robot)).toBe('shut off');
  await reset(robot, 'hw');
  await reset(robot, 'sw');
  expect(robot.machine().power).toBe('off');
  await reset(robot, 'power');
  await robot.fake.advance(DISK_MS);
  expect(robot.machine()).toMatchObject({ power: 'on', phase: 'disk' });
  robot.fake.crash(SERVER);
  await reset(robot, 'power');
  await robot.fake.advance(GRACE_MS);
  expect(robot.machine().power).toBe('on');
  await reset(robot, 'power_long');
  expect(robot.machine().power).toBe('off');
});

test('boots a rescue system once, and never after an hour', async () => {
  const robot = await start();
  await arm(robot);
  await robot.fake.advance(60 * 60_000 - 1);
  expect(robot.machine().isArmed).toBe(true);
  await robot.fake.advance(1);
  expect(robot.machine().isArmed).toBe(false);
  await reset(robot);
  await robot.fake.advance(180_000);
  expect(robot.machine().phase).toBe('disk');
  const key = await robot.rescue();
  expect(robot.machine()).toMatchObject({ phase: 'rescue', isArmed: false });
  await robot.shell(key, 'touch /root/here');
  await reset(robot, 'sw');
  await robot.fake.advance(GRACE_MS + DISK_MS);
  expect(robot.machine()).toMatchObject({ phase: 'disk', hostname: 'old-321' });
});

test('wipefs erases the bootable system of a drive, and lsblk shows no partitions', async () => {
  const robot = await start();
  const key = await robot.rescue();
  const parts = await robot.shell(key, 'lsblk -nlo NAME /dev/nvme0n1');
  expect(parts.stdout).toBe('nvme0n1\nnvme0n1p1\nnvme0n1p2\nnvme0n1p3\n');
  const wiped = await robot.shell(key, 'wipefs -a -f /dev/nvme0n1 /dev/nvme1n1');
  expect(wiped.code).toBe(0);
  expect((await robot.shell(key, 'lsblk -nlo NAME')).stdout).toBe('nvme0n1\nnvme1n1\n');
  expect((await robot.shell(key, 'wipefs -a /dev/sdx')).code).toBe(1);
  expect(Object.values(robot.machine().drives)).toEqual(['nothing', 'nothing']);
  await reset(robot);
  await robot.fake.advance(DISK_MS);
  expect(robot.machine().phase).toBe('nothing');
});

const SETUPS = [
  ['DRIVE1 /dev/sda', /not a disk of this machine/],
  ['DRIVE1 /dev/nvme0n1\nSWRAID 1', /at least two drives/],
  ['DRIVE1 /dev/nvme0n1\nPART /boot ext4 1G', /no PART for \//],
  ['DRIVE1 /dev/nvme0n1\nPART / ext4 9T', /larger than the drive/],
  ['DRIVE1 /dev/nvme0n1\nPART / ext4 all\nIMAGE none', /image none was not found/],
] as const;

test('installimage refuses what it cannot do, and leaves the drives alone', async () => {
  const robot = await start();
  const key = await robot.rescue();
  for (const [lines, why] of SETUPS) {
    const image = lines.includes('IMAGE') ? '' : 'IMAGE Debian-1301-trixie-amd64-base.tar.gz';
    const rest = lines.includes('PART') ? image : `PART / ext4 all\n${image}`;
    const command = 'cat > /autosetup; installimage -a -c /autosetup';
    const { code, stdout } = await robot.shell(key, command, `${lines}\n${rest}\n`);
    expect(stdout).toMatch(why);
    expect(code).toBe(1);
  }
  expect(Object.values(robot.machine().drives)).toEqual(['system', 'system']);
});
