import { rename, rm, writeFile } from 'node:fs/promises';
import { readOwnFile } from '../../kit/private-path.ts';
import type { EmulatorLog } from '../../kit/log.ts';

/** Keeps the state on disk. */
export interface StateFile {
  /**
   * Resolves when everything up to this call is on disk. Calls that come together share a write.
   * While the state is large, it resolves at once, and one write takes all that came meanwhile.
   * @throws {Error} when the file cannot be written.
   */
  save(): Promise<void>;
  /** Something changed that nobody waits for: it is written soon. */
  touch(): void;
  /** Writes a last time. Never throws; a failure is logged. */
  close(): Promise<void>;
}

/** How often the file is written. */
export interface StateFilePace {
  /** A state whose text is longer, in characters, is large. */
  readonly smallMaxLength: number;
  /** From a change of a large state to the write that takes it, and all that come meanwhile. */
  readonly gapMs: number;
}

const SOON_MS = 50;
/** Some thousand things. A write of so much takes a few milliseconds. */
const PACE: StateFilePace = { smallMaxLength: 1024 * 1024, gapMs: 250 };

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
  log: EmulatorLog,
  { smallMaxLength, gapMs }: StateFilePace = PACE,
): StateFile {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dirty = true;
  let large = false;
  let closed = false;
  const temporary = `${path}.${process.pid}.tmp`;
  const write = async () => {
    dirty = false;
    try {
      const text = serialise();
      large = text.length > smallMaxLength;
      // Made anew, or a file that another user put there would get the tokens.
      await rm(temporary, { force: true });
      await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
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
  const writeAll = (): Promise<void> => {
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
  const writeQuietly = () =>
    writeAll().catch((err: unknown) =>
      log.error({ path, err }, 'the state file cannot be written'),
    );
  const writeLater = () => {
    if (closed) return;
    timer ??= setTimeout(
      () => {
        timer = undefined;
        void writeQuietly();
      },
      large ? gapMs : SOON_MS,
    );
  };
  return {
    save: async () => {
      if (!large) return writeAll();
      if (dirty) writeLater();
    },
    touch: () => {
      dirty = true;
      writeLater();
    },
    close: async () => {
      closed = true;
      clearTimeout(timer);
      dirty = true;
      await writeQuietly();
    },
  };
}

/**
 * The stored text, or undefined when there is no such file.
 * @throws {UsageError} others may read or change it, so that they know the tokens or chose them.
 */
export const readStateFile = readOwnFile;
