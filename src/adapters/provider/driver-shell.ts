import type { ProviderMachine } from '../../domain/machine.ts';
import type { CallOptions } from './port.ts';

/**
 * SSH to a machine that a driver installs, such as its rescue system. With the fleet's keys or one of the
 * driver's own; no password ever. Each step has a limit of time, and each output of a command 1 MiB.
 *
 * All reject with a `ProviderError`, whose cause says more (`NotListening`, `TimedOut`, `Denied` …).
 * `transient`: nobody answers, or the connection broke. `auth`: every key was refused. `conflict`: the host
 * key is not one that the driver allows. `invalid`: the key file cannot be used. `aborted`: the signal.
 * `permanent`: more output than allowed, or no room for a file. After `connect` the `outcome` is `unknown`:
 * a command may have run.
 */
export interface DriverShell {
  /**
   * Connects, logs in, and judges the host key before anything is run. A connection with a host key that
   * is not allowed is closed.
   */
  connect(target: DriverShellTarget, options: ShellOptions): Promise<DriverShellSession>;
}
export type ShellOptions = Pick<CallOptions, 'signal'>;

export interface DriverShellTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly hostKey: HostKeyRule;
  /** Private key in a file that nobody else may read; the fleet's keys if absent. */
  readonly keyFile?: string | undefined;
  readonly limits?: DriverShellLimits;
}

/** Milliseconds; the fleet's limits where absent. */
export interface DriverShellLimits {
  readonly connectMs?: number;
  /** Key exchange and login. */
  readonly handshakeMs?: number;
  /** Of each command. */
  readonly executeMs?: number;
}

/**
 * Which host key is believed. There is no rule that believes any. Keys are named by their fingerprint as
 * `SHA256:…` or in MD5 (hexadecimal pairs with colons, with or without `MD5:`).
 */
export type HostKeyRule =
  /** One of these, which the vendor's API told over a connection that is proven. Never an empty list. */
  | { readonly told: readonly string[] }
  /**
   * One that is none of these, where nobody can tell. `note` hears it before anything is run; if it rejects,
   * the connection is closed and `connect` rejects with the same. Each such login is logged.
   */
  | { readonly unlike: readonly string[]; readonly note: (seen: SeenHostKey) => Promise<void> };

export interface SeenHostKey {
  /** Base64 of the wire form. */
  readonly hostKey: string;
  /** `SHA256:…` */
  readonly fingerprint: string;
}

export interface DriverShellSession extends SeenHostKey {
  /** Runs a command to its end, whatever its status is. */
  execute(command: ShellCommand, options: ShellOptions): Promise<CommandResult>;
  /** Puts a file in place as a whole; nothing happens if it is there already. */
  upload(path: string, file: ShellFile, options: ShellOptions): Promise<void>;
  /** Idempotent, never throws. */
  close(): void;
}

/**
 * The machine whose host key is to be judged, over the connection that showed the key. Nothing proves yet
 * who is at the other end: ask for nothing secret, send nothing secret, and change nothing there.
 */
export interface HostKeySession {
  /** Runs a command to its end, whatever its status is. @throws {ProviderError} as `DriverShell` does. */
  execute(
    command: Pick<ShellCommand, 'argv' | 'stdin'>,
    options: ShellOptions,
  ): Promise<CommandResult>;
}
/**
 * Judges the host key that a handshake proved, in its wire form. The session is for a driver that compares what is
 * on the right machine alone.
 */
export type VerifyHostKey<Options> = (
  machine: ProviderMachine,
  key: Buffer,
  options: Options,
  session: HostKeySession,
) => Promise<void>;
export interface ShellCommand {
  /** Quoted for a shell. Shown in errors and in the machine's list of processes: no secrets. */
  readonly argv: readonly string[];
  /** Names of letters, digits and `_`. Values travel on the standard input and are shown nowhere. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}
export interface CommandResult {
  /** Null: a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface ShellFile {
  readonly content: string | Uint8Array;
  /** Such as 0o755. */
  readonly mode: number;
}
