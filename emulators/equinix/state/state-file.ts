import { rename, rm, writeFile } from 'node:fs/promises';
import { UsageError } from '../../../src/domain/errors.ts';
import { readOwnFile } from '../../kit/private-path.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { State } from './state.ts';

/** Keeps the state on disk. */
export interface StateFile {
  /**
   * Resolves when everything up to this call is on disk; for a large state, at once.
   * @throws {Error} the file cannot be written.
   */
  save(): Promise<void>;
  /** Something changed that nobody waits for; it is written soon. */
  touch(): void;
  /** Writes a last time. Never throws; a failure is logged. */
  close(): Promise<void>;
}

/** For an emulator without a state file. */
export const noStateFile: StateFile = {
  save: async () => undefined,
  touch: () => undefined,
  close: async () => undefined,
};

/** Longer states, in characters, are large: some hundred devices. */
const SMALL_MAX_LENGTH = 1024 * 1024;
/**
 * Delay from a change to its write, for a small and a large state. The write includes all changes
 * meanwhile.
 */
const [SOON_MS, LATER_MS] = [50, 250];

/**
 * Writes a temporary file and renames it, so the file is always whole. It is not synced: it
 * survives the death of the process, not of the computer.
 */
export function createStateFile(
  path: string,
  serialise: () => string,
  log: EmulatorLog,
): StateFile {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dirty = true;
  let large = false;
  let closed = false;
  const temporary = `${path}.${process.pid}.tmp`;

  /** Repeats until nothing is new. */
  const write = async () => {
    try {
      while (dirty) {
        dirty = false;
        const text = serialise();
        large = text.length > SMALL_MAX_LENGTH;
        // Recreated, because a file that another user put there would receive the tokens.
        await rm(temporary, { force: true });
        await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
        await rename(temporary, path);
      }
    } catch (error) {
      dirty = true;
      throw error;
    } finally {
      running = undefined;
    }
  };
  const writeNow = async (): Promise<void> => {
    if (dirty) running ??= write();
    await running;
  };
  const writeQuietly = () =>
    writeNow().catch((err: unknown) => log.error({ path, err }, 'the state file is not written'));
  const touch = () => {
    dirty = true;
    if (closed) return;
    const delayMs = large ? LATER_MS : SOON_MS;
    timer ??= setTimeout(() => {
      timer = undefined;
      void writeQuietly();
    }, delayMs);
  };
  return {
    save: async () => (large ? touch() : writeNow()),
    touch,
    async close() {
      closed = true;
      clearTimeout(timer);
      dirty = true;
      await writeQuietly();
    },
  };
}

const VERSION = 2;
const MAPS = ['projects', 'reservations', 'devices', 'sshKeys', 'timers'] as const;

/** The state as JSON text. */
export function serialise(state: State): string {
  const lists = Object.fromEntries(MAPS.map((name) => [name, [...state[name].values()]]));
  return JSON.stringify({ version: VERSION, ...state, ...lists });
}

/**
 * The stored state, or undefined without a file.
 * @throws {UsageError} the file is invalid, or others may read or change it and so know or choose
 * the tokens.
 */
export function readState(path: string): State | undefined {
  const text = readOwnFile(path);
  if (text === undefined) return undefined;
  const stored = parsed(text) as Record<string, readonly { readonly id: string }[]> | null;
  const isWhole = MAPS.every((name) => Array.isArray(stored?.[name]));
  if ((stored?.['version'] as unknown) !== VERSION || !isWhole) {
    throw new UsageError(
      `${path} is not a state file of the emulator, version ${VERSION}; remove it to begin anew`,
    );
  }
  const maps = MAPS.map((name) => [name, new Map(stored![name]!.map((one) => [one.id, one]))]);
  const { version: _version, ...state } = { ...stored, ...Object.fromEntries(maps) };
  return state as State;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
