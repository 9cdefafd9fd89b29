import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { makePrivateDirectory } from '../private-path.ts';

/** What a machine needs to come back after the simulator was killed. */
export interface MachineRecord {
  readonly deviceId: string;
  readonly hostname: string;
  readonly port: number;
  /** OpenSSH PEM. */
  readonly hostKey: string;
  readonly authorizedKeys: readonly string[];
  /** What the first boot of an installation reads. Absent in records of an earlier release. */
  readonly userdata?: string | null;
  /** Whether that has happened. */
  readonly initialized?: boolean;
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

/**
 * OpenSSH PEM. One in 256 keys that ssh2 1.17 makes has a public half that begins with a zero byte,
 * which its generator strips, so that nothing can read the key: those are thrown away.
 */
export function generateHostKey(): string {
  for (;;) {
    const pem = ssh2.utils.generateKeyPairSync('ed25519').private;
    if (!(ssh2.utils.parseKey(pem) instanceof Error)) return pem;
  }
}

/** Public half, base64 of the wire blob. */
export function publicHostKey(hostKey: string): string {
  const key = ssh2.utils.parseKey(hostKey);
  if (key instanceof Error) throw key;
  return key.getPublicSSH().toString('base64');
}
