import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { arm, install, INSTALL_MS, logOf, type NumberedProof, reset } from './fault-steps.ts';
import { codeOf, type Robot, SERVER, type SshKey } from './harness.ts';

const BOOT_MS = 180_000;
const md5Of = (blob: string): string =>
  createHash('md5').update(Buffer.from(blob, 'base64')).digest('hex').match(/../g)!.join(':');

const hostKeysOf = async ({ get }: Robot): Promise<unknown> => {
  const { rescue } = (await get(`/boot/${SERVER}/rescue`)) as { rescue: { host_key: unknown } };
  return rescue.host_key;
};
const drivesOf = async (robot: Robot, key: SshKey): Promise<string> =>
  (await robot.shell(key, 'lsblk -dno NAME,WWN')).stdout;

/** What each fault of resets, boots and rescue systems does, and that it is over with its rule. */
export const MACHINE_FAULTS: readonly NumberedProof[] = [
  [
    11,
    'a reset is acknowledged, and nothing happens',
    async (robot) => {
      await robot.fault({ type: 'reset', does: 'ignored' }, { times: 1 });
      expect((await reset(robot)).status).toBe(200);
      expect(robot.machine()).toMatchObject({ phase: 'disk', resets: [] });
      await reset(robot);
      expect(robot.machine().phase).toBe('post');
    },
  ],
  [
    12,
    'RESET_FAILED, and it was done',
    async (robot) => {
      await robot.fault({ type: 'reset', does: 'failsThoughDone' }, { times: 1 });
      expect(codeOf(await reset(robot))).toEqual([500, 'RESET_FAILED']);
      expect(robot.machine()).toMatchObject({ phase: 'post', resets: [{ type: 'hw' }] });
      expect(robot.fake.requests()).toMatchObject([{ status: 500, executed: true }]);
    },
  ],
  [
    13,
    'a technician is at it',
    async (robot) => {
      await robot.fault({ type: 'manualReset' }, { times: 1 });
      expect(codeOf(await reset(robot))).toEqual([409, 'RESET_MANUAL_ACTIVE']);
      expect(robot.machine().resets).toEqual([]);
      expect((await reset(robot)).status).toBe(200);
    },
  ],
  [
    14,
    'the rescue system disarms itself',
    async (robot) => {
      await robot.fault({ type: 'rescueDisarms' }, { times: 1 });
      await arm(robot);
      expect(robot.machine().armed).toBeNull();
      await robot.fault({ type: 'rescueDisarms', afterMs: 1_000 }, { times: 1 });
      await arm(robot);
      await robot.fake.advance(999);
      expect(robot.machine().armed).toBe('rescue');
      await robot.fake.advance(1);
      expect(robot.machine().armed).toBeNull();
    },
  ],
  [
    15,
    'the drives are booted in spite of the rescue system',
    async (robot) => {
      await robot.fault({ type: 'bootsDisk' }, { match: { server: SERVER }, times: 1 });
      await robot.rescue();
      expect(robot.machine()).toMatchObject({ phase: 'disk', armed: 'rescue' });
      await reset(robot);
      await robot.fake.advance(BOOT_MS);
      expect(robot.machine()).toMatchObject({ phase: 'rescue', armed: null });
    },
  ],
  [
    16,
    'the rescue system lets in a foreign key, or none',
    async (robot) => {
      for (const does of ['foreign', 'none'] as const) {
        await robot.fault({ type: 'rescueKeys', does }, { times: 1 });
        const key = await robot.rescue();
        expect(robot.machine().phase).toBe('rescue');
        await expect(robot.shell(key, 'true')).rejects.toThrow(/authentication/);
      }
      expect((await robot.shell(await robot.rescue(), 'true')).code).toBe(0);
    },
  ],
  [
    17,
    'host_key is empty, right, or wrong',
    async (robot) => {
      const key = await arm(robot);
      expect(await hostKeysOf(robot)).toEqual([]);
      await robot.fault({ type: 'hostKey', shows: 'right', form: 'text' }, { times: 1 });
      const [right] = (await hostKeysOf(robot)) as [string];
      await robot.fault({ type: 'hostKey', shows: 'wrong' }, { times: 1 });
      const [wrong] = (await hostKeysOf(robot)) as [{ key: { fingerprint: string } }];
      await robot.fault({ type: 'hostKey', shows: 'empty' }, { times: 1 });
      expect(await hostKeysOf(robot)).toEqual([]);
      await reset(robot);
      await robot.fake.advance(BOOT_MS);
      const { hostKey } = await robot.shell(key, 'true');
      expect(right).toBe(md5Of(hostKey));
      expect(wrong.key).toMatchObject({ type: 'ED25519', size: 256 });
      expect(wrong.key.fingerprint).not.toBe(right);
    },
  ],
  [
    18,
    'SSH lets in, and the command hangs',
    async (robot) => {
      const key = await robot.rescue();
      await robot.fault({ type: 'commandHangs' }, { times: 1 });
      const hanging = robot.shell(key, 'true');
      let isOver = false;
      const over = hanging.catch(() => void (isOver = true));
      await expect.poll(() => robot.fake.faults()[0]?.applied).toBe(1);
      expect((await robot.shell(key, 'true')).code).toBe(0);
      expect(isOver).toBe(false);
      await reset(robot);
      await over;
      expect(isOver).toBe(true);
    },
  ],
  [
    19,
    'installimage fails, hangs, or prints the marker and fails',
    async (robot) => {
      const key = await robot.rescue();
      const fault = (does: 'fails' | 'hangs' | 'marksAndFails') =>
        robot.fault({ type: 'installimage', does }, { times: 1 });
      await fault('fails');
      await install(robot, key);
      await robot.fake.advance(INSTALL_MS);
      expect(await logOf(robot, key)).toMatch(/An error occurred[^]*\n1\n$/);
      await fault('marksAndFails');
      await install(robot, key);
      await robot.fake.advance(INSTALL_MS);
      expect(await logOf(robot, key)).toMatch(/MARKER\n[^]*An error occurred[^]*\n1\n$/);
      expect(Object.values(robot.machine().drives)).toEqual(['nothing', 'nothing']);
      await fault('hangs');
      await robot.shell(key, 'rm /root/status');
      await install(robot, key);
      await robot.fake.advance(10 * INSTALL_MS);
      expect(await logOf(robot, key)).toBe('Starting the installation\n');
      await install(robot, key);
      await robot.fake.advance(INSTALL_MS);
      expect(await logOf(robot, key)).toMatch(/MARKER\nINSTALLATION COMPLETE[^]*\n0\n$/);
    },
  ],
  [
    20,
    'a drive is missing, or has another name',
    async (robot) => {
      const [first, second] = robot.machine().wwns;
      await robot.fault({ type: 'drive', does: 'missing', drive: 0 }, { times: 1 });
      expect(await drivesOf(robot, await robot.rescue())).toBe(`nvme1n1 ${second}\n`);
      await robot.fault({ type: 'drive', does: 'renamed' }, { times: 1 });
      const key = await robot.rescue();
      const links = 'cd /dev/disk/by-id && for each in *; do readlink -f $each; done';
      expect(await drivesOf(robot, key)).toBe(`nvme1n1 ${first}\nnvme0n1 ${second}\n`);
      const found = (await robot.shell(key, links)).stdout.split('\n').filter(Boolean);
      expect(found.toSorted()).toEqual(['/dev/nvme0n1', '/dev/nvme1n1']);
      const usual = `nvme0n1 ${first}\nnvme1n1 ${second}\n`;
      expect(await drivesOf(robot, await robot.rescue())).toBe(usual);
    },
  ],
  [
    25,
    'an image is gone',
    async (robot) => {
      const image = 'Debian-1210-bookworm-amd64-base.tar.gz';
      await robot.fault({ type: 'imageGone', image }, { times: 1 });
      const key = await robot.rescue();
      const { stdout } = await robot.shell(key, 'ls /root/.oldroot/nfs/install/../images/');
      expect(stdout).not.toContain(image);
      expect(stdout).toContain('trixie');
      await install(robot, key);
      expect(await logOf(robot, key)).toMatch(/the image .* was not found[^]*\n1\n$/);
      const listed = await robot.shell(await robot.rescue(), 'ls /root/images');
      expect(listed.stdout).toContain(image);
    },
  ],
];
