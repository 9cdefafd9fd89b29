import { posix } from 'node:path';
import { BOOT_ID_PATH } from '../../emulators/hosts/disk.ts';
import type { HostDisk } from '../../emulators/hosts/host.ts';
import type { HostsLog } from '../../emulators/hosts/options.ts';
import { homeDirectory } from '../../emulators/hosts/paths.ts';
import { playUserData } from '../../emulators/hosts/user-data.ts';

/** Texts by path. */
export interface MemoryDisk extends HostDisk {
  readonly files: Map<string, string>;
}

/** An empty in-memory disk. */
export function createMemoryDisk(log: HostsLog): MemoryDisk {
  const files = new Map<string, string>();
  return {
    files,
    async wipe() {
      files.clear();
    },
    async boot(bootId) {
      for (const path of files.keys()) if (path.startsWith('/run/')) files.delete(path);
      files.set(BOOT_ID_PATH, `${bootId}\n`);
    },
    runScript: (script) =>
      playUserData(
        script,
        {
          async write(path, text) {
            files.set(posix.resolve(homeDirectory, path), text);
          },
          makeDirectory: async () => undefined,
          read: async (path) => files.get(posix.resolve(homeDirectory, path)),
          async remove(path) {
            files.delete(posix.resolve(homeDirectory, path));
          },
        },
        log,
      ),
  };
}
