import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { INSTANCE_SECRET_PATH } from '../../../domain/provisioning/provider-tags.ts';

const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';

/**
 * Stands in for the few paths that must not be this host's own. Wherever a command names one of
 * them, it gets a path below a private directory instead.
 */
export interface PrivatePaths {
  /** The command as it is run: with private paths, and without `sudo` at its start. */
  translate(command: string): string;
  /** What `cat` of the boot id answers from now on. */
  setBootId(bootId: string): Promise<void>;
  /** The secret goes with the system that it belonged to. */
  clear(): Promise<void>;
}

export function createPrivatePaths(dir: string): PrivatePaths {
  const root = join(dir, 'private');
  const replaced = [dirname(INSTANCE_SECRET_PATH), BOOT_ID_PATH].map((path) => [
    path,
    join(root, path),
  ]);
  return {
    translate: (command) =>
      replaced.reduce(
        (text, [path, own]) => text.replaceAll(path!, () => own!),
        command.replace(/^sudo (-n )?/, ''),
      ),
    async setBootId(bootId) {
      const path = join(root, BOOT_ID_PATH);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, `${bootId}\n`);
    },
    clear: () => rm(root, { recursive: true, force: true }),
  };
}
