import { readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HostDisk } from './host.ts';
import type { HostsLog } from './options.ts';
import { containedPath, homeDirectory } from './paths.ts';
import type { SpareDisk } from './spare-disk.ts';
import { playUserData } from './user-data.ts';

/** Files below it are in memory, and disappear at each boot. */
const VOLATILE = '/run';

export interface DirectoryDiskDeps {
  /** The machine's `/`. */
  readonly root: string;
  readonly bootIdFile: string;
  readonly hostname: () => string;
  readonly spare: SpareDisk | undefined;
  readonly log: HostsLog;
}

/** A disk that is a directory, from which real programs can run. */
export function createDirectoryDisk({
  root,
  bootIdFile,
  hostname,
  spare,
  log,
}: DirectoryDiskDeps): HostDisk {
  return {
    wipe: () => rm(root, { recursive: true, force: true }),
    async boot(bootId) {
      await rm(join(root, VOLATILE), { recursive: true, force: true });
      for (const directory of [homeDirectory, 'tmp', 'etc', VOLATILE, dirname(BOOT_ID_PATH)]) {
        await mkdir(join(root, directory), { recursive: true });
      }
      await writeFile(join(root, 'etc/hostname'), `${hostname()}\n`);
      await writeFile(bootIdFile, `${bootId}\n`);
      await spare?.attach();
    },
    halt: () => spare?.detach(),
    runScript: (script) =>
      playUserData(
        script,
        {
          // Root writes whatever the mode says, so the owner, which is this process, always keeps
          // that right.
          async write(path, text, mode) {
            const file = await containedPath(root, path);
            await writeFile(file, text);
            await chmod(file, mode | 0o600);
          },
          async makeDirectory(path, mode) {
            const directory = await containedPath(root, path);
            await mkdir(directory, { recursive: true });
            await chmod(directory, mode | 0o700);
          },
          async read(path) {
            return textOf(await containedPath(root, path));
          },
          async remove(path) {
            await rm(await containedPath(root, path), { force: true });
          },
        },
        log,
      ),
  };
}

/** Undefined: the file does not exist. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** File of a machine's boot id. */
export const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';

/** Undefined before the first boot. */
export function readBootId(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
