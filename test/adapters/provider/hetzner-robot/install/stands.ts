import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Installation } from '../../../../../src/adapters/provider/hetzner-robot/scripts.ts';
import { INSTANCE_SECRET_PATH } from '../../../../../src/domain/provisioning/provider-tags.ts';

export interface Rescue {
  /** Names of images. Empty: there are none. */
  readonly images: readonly string[];
  readonly hasInstaller: boolean;
  readonly installer: 'works' | 'fails' | 'marksAndFails';
  readonly hasDrives: boolean;
}
export const IMAGE = 'Debian-1300-trixie-amd64-base.tar.gz';
export const HOSTNAME = 'shep-prod-321';
export const SECRET = '5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2';
export const NASTY = `$(touch /tmp/pwned) \`id\` '; rm -rf / #" \\ %s %n !`;
export const INSTALLATION: Installation = {
  witness: '0b6e0000-1234-4abc-8def-0123456789ab',
  shortWitness: 'bnxaaaas',
  hostname: HOSTNAME,
  image: { file: IMAGE },
  drives: 'all',
  layout: null,
  publicKey: 'ssh-ed25519 AAAAC3Nz shepherd',
  initCommand: ['#!/bin/sh', `printf %s ${SECRET} > ${INSTANCE_SECRET_PATH}`].join('\n'),
  tags: { 'shepherd-op': '0b6e0000-1234-4abc-8def-0123456789ab', odd: NASTY },
};
export const GUARD = '/root/shepherd-bnxaaaas';
const DRIVES = [
  { name: 'nvme0n1', wwn: 'eui.0025385b00' },
  { name: 'nvme1n1', wwn: 'eui.0025385b01' },
];
const USUAL: Rescue = { images: [IMAGE], hasInstaller: true, installer: 'works', hasDrives: true };
const IMAGES = '/root/.oldroot/nfs/images';
const INSTALLER = '/root/.oldroot/nfs/install/installimage';

/**
 * Paths moved into the folder of a stand: everything that the scripts touch, except `/dev/null`.
 */
const PATHS = /\/(root|autosetup|var\/lib|etc\/systemd|proc\/sys|dev(?!\/null))\b/g;

/** Replacements for programs that touch the hardware or take long. */
const lsblk = (hasDrives: boolean): string => {
  const answers = DRIVES.map(
    ({ name, wwn }) => `
  '-dno WWN '*/${name}) echo ${wwn} ;;
  '-nlo NAME '*/${name}) printf '%s\\n' ${name} ${name}p1 ;;`,
  );
  const names = ['loop0', ...(hasDrives ? DRIVES.map(({ name }) => name) : [])];
  return `case "$*" in
  '-dno NAME') printf '%s\\n' ${names.join(' ')} ;;${answers.join('')}
esac`;
};
const INSTALLERS: Readonly<Record<Rescue['installer'], string>> = {
  works: '"$5"',
  fails: 'echo An error occurred; exit 1',
  marksAndFails: '"$5"; exit 1',
};

/**
 * A shell of this computer. It runs each script as sent, with two changes: absolute paths are in a
 * folder of the test, and a file replaces a block device (`-b` becomes `-e`), since only root makes
 * those. Programs are this computer's, except those of `bin`, which come first on `PATH`.
 */
export function startRescue(shell: string, given: Partial<Rescue> = {}) {
  const rescue = { ...USUAL, ...given };
  const root = mkdtempSync(join(tmpdir(), 'robot-scripts-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const inside = (text: string) =>
    text.replaceAll('[ ! -b ', '[ ! -e ').replace(PATHS, `${root}/$1`);
  const outside = (text: string) => text.replaceAll(root, '');
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  const tool = (path: string, body: string) => put(path, `#!/bin/sh\n${body}\n`, 0o755);

  for (const path of [IMAGES, dirname(INSTALLER)]) mkdirSync(join(root, path), { recursive: true });
  for (const image of rescue.images) put(`${IMAGES}/${image}`, '');
  if (rescue.hasInstaller) tool(INSTALLER, INSTALLERS[rescue.installer]);
  put('/proc/sys/kernel/random/boot_id', 'boot-1\n');
  for (const { name } of DRIVES) put(`/dev/${name}p1`, '');
  tool('bin/lsblk', lsblk(rescue.hasDrives));
  tool('bin/wipefs', `printf '%s\\n' "$*" >> ${root}/wiped`);
  tool('bin/reboot', `: > ${root}/rebooted`);
  tool('bin/hostname', 'echo rescue');
  for (const name of ['sync', 'sleep', 'swapoff', 'mdadm', 'vgchange']) tool(`bin/${name}`, ':');
  const found = spawnSync('sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' }).stdout.trim();
  symlinkSync(found, join(root, 'bin/sh'));

  return {
    /** Like `sh -s`. Resolves when everything has ended, including background processes. */
    run(script: string) {
      // Background processes keep the fourth pipe open, so the test waits for its end.
      const { status, stdout, stderr } = spawnSync(join(root, 'bin/sh'), ['-s'], {
        input: inside(script),
        env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin` },
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
        encoding: 'utf8',
      });
      return { status, stdout: outside(stdout), stderr: outside(stderr) };
    },
    /** Boots the installed system: later scripts run there. */
    boot() {
      for (const guard of globSync('root/shepherd-*', { cwd: root })) {
        rmSync(join(root, guard), { recursive: true });
      }
      tool('bin/hostname', `echo ${HOSTNAME}`);
    },
    /** Null: there is no such file. */
    read(path: string) {
      const there = join(root, path);
      return existsSync(there) ? outside(readFileSync(there, 'utf8')) : null;
    },
    write: (path: string, text: string) => put(path, inside(text)),
    hasRebooted: () => existsSync(join(root, 'rebooted')),
    /** The arguments of wipefs. */
    wiped: () => outside(readFileSync(join(root, 'wiped'), 'utf8')),
  };
}
export type RescueStand = ReturnType<typeof startRescue>;
