import type { Command } from 'commander';
import type { HostsRandom } from '../hosts/options.ts';
import type { EmulatorClock, ManualClock } from './clock.ts';
import type { ListenAt } from './listen.ts';
import type { EmulatorLog } from './log.ts';

/** The options of `shepherd emulate` for every emulator. */
export interface CommonOptions {
  readonly listen: ListenAt;
  readonly seed: number;
  readonly clock: EmulatorClock | ManualClock;
  readonly profile: 'real' | 'fast';
  /** Not checked yet. */
  readonly faults: readonly never[];
  readonly log: EmulatorLog;
  /** Not seeded: for secrets, and for choices that must differ between processes. */
  readonly random: HostsRandom;
}

/** Parsers of option texts. */
export interface Readers {
  readonly wholeNumber: (least: number, most: number) => (text: string) => number;
  readonly durationMs: (text: string) => number;
}

/** An emulator that its command started. */
export interface RunningEmulator {
  /** Content of its one output line. */
  readonly line: object;
  close(): Promise<void>;
  /** The process ends immediately, so only synchronous work has an effect. */
  abandon?(): void;
}

/** One emulator's definition for `shepherd emulate`. */
export interface EmulatorCommand {
  /** `shepherd emulate NAME`. */
  readonly name: string;
  readonly description: string;
  /** Adds the options of this emulator alone. */
  addOptions(command: Command, readers: Readers): void;
  /** @param own the emulator's own options from the command line. */
  start(common: CommonOptions, own: Readonly<Record<string, unknown>>): Promise<RunningEmulator>;
  /** Errors that the caller can correct, besides errors of rules and addresses. */
  readonly mendable?: readonly (new (...args: never[]) => Error)[];
}
