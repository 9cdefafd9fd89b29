import { watch, type FSWatcher } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { bootIdVariable } from './processes.ts';

/** Kernel name of the disk. */
export const diskName = 'vda';
const sectorBytes = 512;
const rebootSuffix = '.reboot';

/**
 * A disk beside the one that the machine runs from: an agent finds it as on real hardware, may write
 * an image to it, and may then reboot the machine. What is on it is never booted.
 */
export interface SpareDisk {
  /** For the environment of all that runs on the machine. */
  readonly env: Readonly<Record<string, string>>;
  /** At each boot. Blank if it was not there before. */
  attach(): Promise<void>;
  detach(): void;
}

export interface SpareDiskOptions {
  /** What the machine sees as `/`. */
  readonly root: string;
  readonly bootIdFile: string;
  readonly sizeBytes: number;
  /** Something on the machine wants it rebooted. */
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
        // Making a file is told more than once.
        detach();
        onReboot();
      });
    },
    detach,
  };
}

/** As sysfs tells of it. */
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
