import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';

/** The one machine, as it stands in its directory, so that it outlives the process. */
export interface HostState {
  readonly id: string;
  readonly hostname: string;
  readonly tags: Tags;
  readonly power: 'on' | 'off';
  /** What it says it is; another one after each boot. */
  readonly bootId: string;
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** OpenSSH lines that may log in. */
  readonly authorizedKeys: readonly string[];
  /** Where it listens once it has; 0 before. */
  readonly port: number;
}

/** As earlier releases wrote it: with one key. */
type Written = HostState & { readonly authorized?: string };

/** The state file of a directory; null stands for a machine that does not exist. */
export function createStateFile(dir: string) {
  const path = join(dir, 'machine.json');
  return {
    async read(): Promise<HostState | null> {
      try {
        const written = JSON.parse(await readFile(path, 'utf8')) as Written | null;
        if (!written) return null;
        const { authorized, ...state } = written;
        return authorized === undefined ? state : { ...state, authorizedKeys: [authorized] };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
    },
    /** Whole or not at all. */
    async write(state: HostState | null): Promise<void> {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const file = await open(`${path}.new`, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify(state, null, 2));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.new`, path);
    },
  };
}
export type StateFile = ReturnType<typeof createStateFile>;
