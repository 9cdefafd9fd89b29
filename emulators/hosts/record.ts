import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateDirectory } from '../kit/private-path.ts';
import type { HostSystem } from './host.ts';

/** A machine's state that outlives a killed simulator. */
export interface MachineRecord extends HostSystem {
  readonly deviceId: string;
  readonly hostname: string;
  readonly port: number;
  /** Its own address if it serves; absent: 127.0.0.1. */
  readonly address?: string;
  /** The last executed uploaded program, by its path on the machine. */
  readonly program?: string;
}

const fileName = 'machine.json';

/** Beside the machine's disk, where nobody on the machine can read or change it. */
export async function saveRecord(home: string, record: MachineRecord): Promise<void> {
  const path = join(home, fileName);
  await mkdir(home, { recursive: true });
  await writeFile(`${path}.new`, JSON.stringify(record, null, 2), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/**
 * The machines of an earlier run. Creates a missing directory.
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
