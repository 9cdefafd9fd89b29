import { createFiles, type Files } from '../shell/files.ts';
import { type NamedDrive, partitionName } from './drives.ts';

export const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';
export const HOST_KEY_PATH = '/etc/ssh/ssh_host_ed25519_key';
export const AUTHORIZED_KEYS_PATH = '/root/.ssh/authorized_keys';
export const INSTALLER_PATH = '/root/.oldroot/nfs/install/installimage';
export const IMAGES_PATH = '/root/.oldroot/nfs/images';
export const IMAGES = [
  'Debian-1210-bookworm-amd64-base.tar.gz',
  'Debian-1301-trixie-amd64-base.tar.gz',
  'Ubuntu-2404-noble-amd64-base.tar.gz',
];

const DIRECTORIES = [
  '/dev',
  '/etc/ssh',
  '/etc/systemd/system',
  '/lib/systemd/system',
  '/mnt',
  '/proc',
  '/run',
  '/tmp',
  '/usr/local/bin',
  '/var/lib',
  '/var/log',
];
const BLOCK_BYTES = 512;
const GB = 1e9;

export interface SystemFiles {
  readonly hostname: string;
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** Lines. */
  readonly authorizedKeys: readonly string[];
}

/** What every system has: on a drive, or in memory. */
export function systemTree({ hostname, hostKey, authorizedKeys }: SystemFiles): Files {
  const files = createFiles();
  for (const directory of DIRECTORIES) files.makeDirectory(directory);
  files.makeDirectory('/root/.ssh', 0o700);
  files.write('/etc/hostname', `${hostname}\n`);
  files.write(HOST_KEY_PATH, hostKey, 0o600);
  files.write('/etc/os-release', 'ID=debian\nVERSION_ID="12"\n');
  writeKeys(files, authorizedKeys);
  return files;
}

export const writeKeys = (files: Files, lines: readonly string[]): void =>
  files.write(AUTHORIZED_KEYS_PATH, lines.map((line) => `${line}\n`).join(''), 0o600);

/** What the kernel shows of itself and of the drives, from boot to boot. */
export function mountKernel(files: Files, bootId: string, drives: readonly NamedDrive[]): void {
  for (const path of ['/dev', '/proc', '/sys', '/run']) files.remove(path);
  for (const path of ['/dev/disk/by-id', '/proc/sys/kernel/random', '/sys/block', '/run']) {
    files.makeDirectory(path);
  }
  for (const name of ['null', 'zero', 'tty']) files.put(`/dev/${name}`, device());
  files.write(BOOT_ID_PATH, `${bootId}\n`);
  files.write('/proc/mdstat', 'Personalities : [raid1]\nunused devices: <none>\n');
  for (const one of drives) showDrive(files, one);
}

const device = () => ({ kind: 'device', mode: 0o660 }) as const;

/** Again, when its partitions have changed. */
export function showDrive(files: Files, { name, drive }: NamedDrive): void {
  for (const other of files.list('/dev')) {
    if (other.startsWith(name)) files.remove(`/dev/${other}`);
  }
  const id = `/dev/disk/by-id/${name.startsWith('nvme') ? 'nvme' : 'wwn'}-${drive.wwn}`;
  files.put(`/dev/${name}`, device());
  files.put(id, { kind: 'link', target: `../../${name}` });
  for (let number = 1; number <= drive.partitions; number++) {
    files.put(`/dev/${partitionName(name, number)}`, device());
  }
  files.makeDirectory(`/sys/block/${name}`);
  files.write(`/sys/block/${name}/wwid`, `${drive.wwn}\n`);
  files.write(`/sys/block/${name}/size`, `${(drive.sizeGb * GB) / BLOCK_BYTES}\n`);
}

/** The rescue system, which lives in memory. */
export function rescueTree(system: SystemFiles, images: readonly string[]): Files {
  const files = systemTree(system);
  files.makeDirectory('/root/.oldroot/nfs/install');
  files.makeDirectory(IMAGES_PATH);
  files.write(INSTALLER_PATH, '#!/bin/bash\n', 0o755);
  for (const image of images) files.write(`${IMAGES_PATH}/${image}`, 'image\n');
  files.put('/root/images', { kind: 'link', target: IMAGES_PATH });
  return files;
}
