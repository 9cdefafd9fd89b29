import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { INSTANCE_SECRET_PATH } from '../../../domain/provisioning/provider-tags.ts';
import { BOOT_ID_PATH } from '../../../../emulators/hosts/disk.ts';
import type { HostDisk } from '../../../../emulators/hosts/host.ts';

/**
 * Stands in for the few paths that must not be this host's own. Wherever a command names one of
 * them, it gets a path below a private directory instead. All else is the disk of this host, and is
 * left as it is.
 */
export interface PrivateDisk extends Omit<HostDisk, 'runScript'> {
  readonly bootIdFile: string;
  /** The command as it is run: with private paths, and without `sudo` at its start. */
  translate(command: string): string;
}

export function createPrivateDisk(dir: string): PrivateDisk {
  const root = resolve(dir, 'private');
  const bootIdFile = join(root, BOOT_ID_PATH);
  const secrets = dirname(INSTANCE_SECRET_PATH);
  return {
    bootIdFile,
    translate: (command) =>
      command
        .replace(/^sudo (-n )?/, '')
        .replaceAll(secrets, () => join(root, secrets))
        .replaceAll(BOOT_ID_PATH, () => bootIdFile),
    async wipe() {
      await rm(root, { recursive: true, force: true });
      await mkdir(dir, { recursive: true, mode: 0o700 });
    },
    async boot(bootId) {
      await mkdir(dirname(bootIdFile), { recursive: true, mode: 0o700 });
      await writeFile(bootIdFile, `${bootId}\n`);
    },
  };
}
