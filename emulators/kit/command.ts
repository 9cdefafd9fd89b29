import type { Command } from 'commander';
import type { HostsRandom } from '../hosts/options.ts';
import type { EmulatorClock, ManualClock } from './clock.ts';
import type { ListenAt } from './listen.ts';
import type { EmulatorLog } from './log.ts';

/** What `shepherd emulate` reads for every emulator. */
export interface CommonOptions {
  readonly listen: ListenAt;
  readonly seed: number;
  readonly clock: EmulatorClock | ManualClock;
  readonly profile: 'real' | 'fast';
  /** Not yet looked at. */
  readonly faults: readonly never[];
  readonly log: EmulatorLog;
  /** Not seeded: for secrets, and what two processes must not choose alike. */
  readonly random: HostsRandom;
}

/** How texts of options are read. */
export interface Readers {
  readonly wholeNumber: (least: number, most: number) => (text: string) => number;
  readonly durationMs: (text: string) => number;
}

/** An emulator that was started by its command. */
export interface RunningEmulator {
  /** What its one line says. */
  readonly line: object;
  close(): Promise<void>;
  /** The process ends in the same instant: only what is synchronous has an effect. */
  abandon?(): void;
}

/** What `shepherd emulate` knows of one emulator. */
export interface EmulatorCommand {
  /** `shepherd emulate NAME`. */
  readonly name: string;
  readonly description: string;
  /** Adds the options of this emulator alone. */
  addOptions(command: Command, readers: Readers): void;
  /** @param own The options of its own, as the command line has them. */
  start(common: CommonOptions, own: Readonly<Record<string, unknown>>): Promise<RunningEmulator>;
  /** Errors that whoever calls can mend, besides those of rules and addresses. */
  readonly mendable?: readonly (new (...args: never[]) => Error)[];
}
