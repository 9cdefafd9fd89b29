import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateDirectory } from '../kit/private-path.ts';
import type { HostSystem } from './host.ts';

/** What a machine needs to come back after the simulator was killed. */
export interface MachineRecord extends HostSystem {
  readonly deviceId: string;
  readonly hostname: string;
  readonly port: number;
  /** Its own, of a machine that serves; absent: 127.0.0.1. */
  readonly address?: string;
  /** The uploaded program that was executed last, as the machine names it. */
  readonly program?: string;
}

const fileName = 'machine.json';

/** Beside the machine's disk, not on it: nobody on the machine can read or change it. */
export async function saveRecord(home: string, record: MachineRecord): Promise<void> {
  const path = join(home, fileName);
  await mkdir(home, { recursive: true });
  await writeFile(`${path}.new`, JSON.stringify(record, null, 2), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/**
 * The machines of an earlier run. Makes the directory when it is missing.
 * @throws {UsageError} another user may write there.
 */
export function loadRecords(dir: string): MachineRecord[] {
  makePrivateDirectory(dir);
  return readdirSync(dir).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(dir, name, fileName), 'utf8')) as MachineRecord];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return [];
      throw error;
    }
  });
}
