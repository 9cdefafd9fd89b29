import { InMemoryFs } from 'just-bash';
import type { DriveSeed } from '../world.ts';

export const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';
export const AUTHORIZED_KEYS_PATH = '/root/.ssh/authorized_keys';
export const INSTALLER_PATH = '/root/.oldroot/nfs/install/installimage';
export const IMAGES_PATH = '/root/.oldroot/nfs/images';
export const IMAGES = [
  'Debian-1210-bookworm-amd64-base.tar.gz',
  'Debian-1301-trixie-amd64-base.tar.gz',
  'Ubuntu-2404-noble-amd64-base.tar.gz',
];

/** A system on drives or in memory. */
export interface Tree {
  readonly hostname: string;
  /** OpenSSH PEM. */
  readonly hostKey: string;
  readonly files: InMemoryFs;
}

/** A machine's drive and its content. */
export interface Drive extends DriveSeed {
  /** Number of partitions; 0: none. */
  partitions: number;
  /** The system that it boots; equal on both drives of a RAID. Null: none. */
  system: Tree | null;
}

/** Such as `nvme0n1p2` or `sda2`. */
export const partitionsOf = ({ name, partitions }: Drive): string[] =>
  Array.from({ length: partitions }, (_none, n) => `${name}${/\d$/.test(name) ? 'p' : ''}${n + 1}`);

export function wipe(drive: Drive): void {
  drive.partitions = 0;
  drive.system = null;
}

/** @param keys lines of `authorized_keys`. */
export function systemTree(
  { hostname, hostKey }: Pick<Tree, 'hostname' | 'hostKey'>,
  keys: readonly string[],
): Tree {
  const files = new InMemoryFs({
    '/etc/hostname': `${hostname}\n`,
    [AUTHORIZED_KEYS_PATH]: keys.map((line) => `${line}\n`).join(''),
  });
  for (const path of ['/etc/systemd/system', '/tmp', '/var/lib', '/var/log']) {
    files.mkdirSync(path, { recursive: true });
  }
  return { hostname, hostKey, files };
}

/** The rescue system, which lives in memory. */
export function rescueTree(
  hostKey: string,
  keys: readonly string[],
  images: readonly string[],
): Tree {
  const tree = systemTree({ hostname: 'rescue', hostKey }, keys);
  const installer = '#!/bin/sh\nexec installimage "$@"\n';
  tree.files.writeFileSync(INSTALLER_PATH, installer, 'utf8', { mode: 0o755 });
  tree.files.mkdirSync(IMAGES_PATH, { recursive: true });
  for (const image of images) tree.files.writeFileSync(`${IMAGES_PATH}/${image}`, 'image\n');
  return tree;
}
