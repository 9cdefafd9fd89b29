import { readFile, rename, writeFile } from 'node:fs/promises';
import type { FakequinixLog } from './options.ts';

/** Keeps the state on disk. */
export interface StateFile {
  /**
   * Resolves when everything up to this call is on disk. Calls that come together share a write.
   * @throws {Error} when the file cannot be written.
   */
  save(): Promise<void>;
  /** Something changed that nobody waits for: it is written soon. */
  touch(): void;
  /** Writes a last time. Never throws; a failure is logged. */
  close(): Promise<void>;
}

const SOON_MS = 50;

/** For an emulator that forgets. */
export const noStateFile: StateFile = {
  save: async () => undefined,
  touch: () => undefined,
  close: async () => undefined,
};

/**
 * Writes a temporary file and renames it, so the file is whole at every moment. It is not synced:
 * it survives the death of the process, not that of the machine.
 */
export function createStateFile(
  path: string,
  serialise: () => string,
  log: FakequinixLog,
): StateFile {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dirty = true;
  let closed = false;
  const temporary = `${path}.${process.pid}.tmp`;
  const write = async () => {
    dirty = false;
    try {
      await writeFile(temporary, serialise(), { mode: 0o600 });
      await rename(temporary, path);
    } catch (error) {
      dirty = true;
      throw error;
    }
  };
  const begin = (): Promise<void> => {
    const mine = write().finally(() => {
      running = undefined;
    });
    running = mine;
    return mine;
  };
  const save = (): Promise<void> => {
    if (!dirty) return waiting ?? running ?? Promise.resolve();
    if (!running) return begin();
    waiting ??= running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined;
        return begin();
      });
    return waiting;
  };
  const saveQuietly = () =>
    save().catch((err: unknown) => log.error({ path, err }, 'the state file cannot be written'));
  return {
    save,
    touch: () => {
      dirty = true;
      if (closed) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void saveQuietly();
      }, SOON_MS);
    },
    close: async () => {
      closed = true;
      clearTimeout(timer);
      dirty = true;
      await saveQuietly();
    },
  };
}

/** The stored text, or undefined when there is no such file. */
export async function readStateFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
