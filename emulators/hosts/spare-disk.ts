import { watch, type FSWatcher } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { bootIdVariable } from './processes.ts';

/** Kernel name of the disk. */
export const diskName = 'vda';
const sectorBytes = 512;
const rebootSuffix = '.reboot';

/**
 * A disk besides the machine's own: an agent finds it as on real hardware, may write an image to
 * it, and may then reboot the machine. Its content is never booted.
 */
export interface SpareDisk {
  /** Environment of all the machine's programs. */
  readonly env: Readonly<Record<string, string>>;
  /** At each boot. Creates a blank disk if missing. */
  attach(): Promise<void>;
  detach(): void;
}

export interface SpareDiskOptions {
  /** The machine's `/`. */
  readonly root: string;
  readonly bootIdFile: string;
  readonly sizeBytes: number;
  /** A program on the machine requests a reboot. */
  onReboot(): void;
}

export function createSpareDisk({
  root,
  bootIdFile,
  sizeBytes,
  onReboot,
}: SpareDiskOptions): SpareDisk {
  const wish = `${bootIdFile}${rebootSuffix}`;
  let watcher: FSWatcher | undefined;
  const detach = () => {
    watcher?.close();
    watcher = undefined;
  };
  return {
    env: {
      SHEPHERD_AGENT_ROOT: root,
      SHEPHERD_AGENT_REBOOT_COMMAND: `: >"$${bootIdVariable}${rebootSuffix}"`,
    },
    async attach() {
      detach();
      await rm(wish, { force: true });
      await describe(root, sizeBytes);
      await makeSparse(join(root, 'dev', diskName), sizeBytes);
      watcher = watch(dirname(wish), { persistent: false }, (_event, name) => {
        if (name !== basename(wish)) return;
        // The creation of a file is reported more than once.
        detach();
        onReboot();
      });
    },
    detach,
  };
}

/** Describes the disk as sysfs does. */
async function describe(root: string, sizeBytes: number): Promise<void> {
  const directory = join(root, 'sys/class/block', diskName);
  await mkdir(directory, { recursive: true });
  const facts = { size: sizeBytes / sectorBytes, ro: 0, serial: `disk-${diskName}` };
  for (const [name, value] of Object.entries(facts)) {
    await writeFile(join(directory, name), `${value}\n`);
  }
}

async function makeSparse(path: string, sizeBytes: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a');
  try {
    await file.truncate(sizeBytes);
  } finally {
    await file.close();
  }
}
