import type { ProviderMachine } from '../../domain/machine.ts';
import type { CallOptions } from './port.ts';

/**
 * SSH to a machine that a driver installs, such as its rescue system. Uses the fleet's keys or the
 * driver's own key, never a password. Each step has a time limit, each output a limit of 1 MiB.
 *
 * All methods reject with a `ProviderError`, whose cause says more (`NotListening`, `TimedOut`,
 * `Denied` …). `transient`: no answer, or the connection broke. `auth`: all keys were refused.
 * `conflict`: the driver does not allow the host key. `invalid`: the key file cannot be used.
 * `aborted`: the signal. `permanent`: too much output, or no space for a file. After `connect` the
 * `outcome` is `unknown`: a command may have run.
 */
export interface DriverShell {
  /**
   * Connects, logs in, and checks the host key before running anything. Closes the connection if
   * the key is not allowed.
   */
  connect(target: DriverShellTarget, options: ShellOptions): Promise<DriverShellSession>;
}
export type ShellOptions = Pick<CallOptions, 'signal'>;

export interface DriverShellTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly hostKey: HostKeyRule;
  /** Private key in a file that nobody else may read; absent: the fleet's keys. */
  readonly keyFile?: string | undefined;
  readonly limits?: DriverShellLimits;
}

/** Milliseconds; absent: the fleet's limits. */
export interface DriverShellLimits {
  readonly connectMs?: number;
  /** Key exchange and login. */
  readonly handshakeMs?: number;
  /** Limit for each command. */
  readonly executeMs?: number;
}

/**
 * Which host keys are accepted; no rule accepts every key. Fingerprints are `SHA256:…` or MD5
 * (hexadecimal pairs with colons, with or without `MD5:`).
 */
export type HostKeyRule =
  /** Accepts these keys, reported by the vendor's API over an authenticated connection. */
  | { readonly told: readonly string[] }
  /**
   * Accepts any key except these, if no source knows the key. `note` is called before anything
   * runs; if it rejects, the connection is closed and `connect` rejects with the same error. Each
   * such login is logged.
   */
  | { readonly unlike: readonly string[]; readonly note: (seen: SeenHostKey) => Promise<void> };

export interface SeenHostKey {
  /** Base64 of the wire form. */
  readonly hostKey: string;
  /** `SHA256:…` */
  readonly fingerprint: string;
}

export interface DriverShellSession extends SeenHostKey {
  /** Runs a command to its end, whatever its exit status. */
  execute(command: ShellCommand, options: ShellOptions): Promise<CommandResult>;
  /** Writes the whole file atomically; does nothing if it already exists. */
  upload(path: string, file: ShellFile, options: ShellOptions): Promise<void>;
  /** Idempotent, never throws. */
  close(): void;
}

/**
 * The machine whose host key is being checked, over the connection that proved the key. Nothing
 * proves the machine's identity yet: request and send no secrets, and change nothing there.
 */
export interface HostKeySession {
  /** Runs a command to its end, whatever its status. @throws {ProviderError} like `DriverShell`. */
  execute(
    command: Pick<ShellCommand, 'argv' | 'stdin'>,
    options: ShellOptions,
  ): Promise<CommandResult>;
}
/**
 * Checks the host key (wire form) that a handshake proved. The session is for a driver that
 * compares something only the right machine has.
 */
export type VerifyHostKey<Options> = (
  machine: ProviderMachine,
  key: Buffer,
  options: Options,
  session: HostKeySession,
) => Promise<void>;
export interface ShellCommand {
  /** Quoted for a shell. Visible in errors and in the machine's process list: no secrets. */
  readonly argv: readonly string[];
  /** Names of letters, digits and `_`. Values go over standard input and are visible nowhere. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}
export interface CommandResult {
  /** Null if a signal ended the command. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface ShellFile {
  readonly content: string | Uint8Array;
  /** For example 0o755. */
  readonly mode: number;
}
