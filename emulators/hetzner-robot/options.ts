import type { JournalEntry } from '../kit/journal.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { EmulatorClock, ManualClock } from '../kit/clock.ts';
import type { Play } from '../hosts/commands.ts';
import type { ListenAt } from '../kit/listen.ts';
import type { Credentials } from './core.ts';
import type { Fault, FaultRule } from './fault-rules.ts';
import type { DiskHosts, MachineState } from './machine/machine.ts';
import type { Timings } from './machine/timings.ts';
import type { ResetType, ServerSeed } from './world.ts';

export interface RobotEmulatorOptions {
  /** Of the API; the admin API takes the next port. 0: free ones. */
  readonly listen: ListenAt;
  /** How many, or what each of them has otherwise than usual. Default 1. */
  readonly servers?: number | readonly ServerSeed[];
  /** Names of servers that nobody named begin so. Default `free-`. */
  readonly freePrefix?: string;
  /** `fast`: machines need a hundredth of their time; hours of the API stay hours. Default `real`. */
  readonly profile?: 'real' | 'fast';
  readonly timings?: Partial<Timings>;
  /** Requests per hour otherwise than usual, by such as `POST /reset`. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Names are cut to so many characters. Default: none is. */
  readonly nameLength?: number;
  /** Default 1. Of addresses, drives and chance; passwords, keys and tokens are random always. */
  readonly seed?: number;
  readonly faults?: readonly FaultRule[];
  /** Default: the real one. A manual one is moved by `advance` only. */
  readonly clock?: EmulatorClock | ManualClock;
  /** The port of SSH on every machine, each of which has an address of its own. 0: a free one. */
  readonly sshPort?: number;
  /** Play the systems that are installed. Default: the emulator does. */
  readonly hosts?: RobotEmulatorHosts;
  readonly log?: EmulatorLog;
}

/** Such as simulated hosts, which have processes and agents. */
export interface RobotEmulatorHosts extends DiskHosts {
  /** Where the machine will be, for its life. All of them have one port. */
  assign(device: {
    readonly id: string;
    readonly hostname: string;
    readonly authorizedKeys: readonly string[];
  }): Promise<{ readonly address: string; readonly sshPort: number }>;
}

/** What a test wants to know of a server and of the machine behind it. */
export interface ServerSnapshot extends MachineState {
  readonly number: number;
  readonly name: string;
  readonly product: string;
  readonly dc: string;
  /** Null: it has no IPv4 address. */
  readonly address: string | null;
  /** Whether the rescue system boots next. */
  readonly isArmed: boolean;
  readonly wwns: readonly string[];
}

export interface RobotEmulator {
  /** Of the API, without a slash at its end. */
  readonly url: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly credentials: Credentials;
  /** Of SSH, on every machine. */
  readonly sshPort: number;
  servers(): readonly ServerSnapshot[];
  /** The journal's entries after `seq`, oldest first. */
  requests(afterSeq?: number): readonly JournalEntry[];
  /** Requests that were let through in the last hour, by such as `GET /server`. */
  used(): Readonly<Record<string, number>>;
  /** Resolves when it is in force. @throws {ZodError} for a rule that cannot be understood. */
  addFault(rule: FaultRule): Promise<Fault>;
  faults(): readonly Fault[];
  /** Answers whether the fault existed. */
  removeFault(id: string): Promise<boolean>;
  clearFaults(): Promise<void>;
  /** What somebody at the machine's buttons does; no request is made. @throws {Error} unknown. */
  press(server: number, type: ResetType): void;
  /** The kernel of what runs ends; it answers connections, and nothing else. @throws {Error} unknown. */
  crash(server: number): void;
  /** Another one works in the account: the name is set, no request is made. @throws {Error} unknown. */
  rename(server: number, name: string): void;
  /**
   * Plays a script for a shell on a system that `hosts` play, by `sh -s` alone: on files of its own,
   * which hold what was installed. Undefined: it is another command.
   */
  play(device: string, argv: readonly string[]): Play | undefined;
  /** From now on logins have another password. */
  setPassword(password: string): void;
  /** Epoch ms. */
  now(): number;
  /** Moves a manual clock, and waits for machines at each step. @throws {Error} it is not manual. */
  advance(ms: number): Promise<void>;
  /** Resolves when nothing goes on by itself but what waits for time. */
  settled(): Promise<void>;
  /** Ends all timers and sockets at once. Idempotent. */
  close(): Promise<void>;
}
