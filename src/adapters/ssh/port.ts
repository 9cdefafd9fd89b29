import { createHash } from 'node:crypto';
import { Malformed } from '../../domain/errors.ts';
import type { HeldSecret } from '../../domain/machine.ts';

/**
 * The fleet's only use of SSH. Every implementation passes `test/contracts/shell.ts`. Each step has
 * its own time limit (configuration of the implementation) and obeys its signal.
 */
export interface RemoteShell {
  /**
   * Connects and authenticates. Runs nothing yet, so that the caller can check the host key first.
   * @throws {NotListening} refused, or no route; a subclass of {Unreachable}.
   * @throws {NoCommonProtocol} the peer speaks no SSH, or shares no algorithm with us; also a
   *   subclass.
   * @throws {Unreachable} reset or closed meanwhile. @throws {TimedOut} connect or handshake limit.
   * @throws {Denied} the host refused all our keys, and the password.
   * @throws {UsageError} the password is no longer in its source.
   */
  connect(target: ShellTarget, signal: AbortSignal): Promise<ShellSession>;
}

export interface ShellTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /**
   * The known host key, base64 of the wire form; absent if unknown. Requests a key of the same
   * type; the caller checks whether it is the same key.
   */
  readonly hostKey?: string | null;
  /** Tried after our keys, and only with a host that has proved `hostKey`. */
  readonly password?: HeldSecret;
}

export interface ShellSession {
  /** The host key proved by the handshake, base64 of the wire form. */
  readonly hostKey: string;
  /**
   * Uploads a file: writes it under a temporary name, checks its hash, then renames it. Skipped if
   * size and SHA-256 already match. An interrupted upload of the same content resumes where it
   * ended. Of `file.compressed`, sends the first form that the machine can unpack.
   * @throws {UploadFailed} no space, no permission. @throws {TimedOut} without progress for too
   *   long. @throws {Unreachable}
   */
  upload(path: string, file: UploadFile, signal: AbortSignal): Promise<{ skipped: boolean }>;
  /**
   * Runs one command (argument vector, quoted by the implementation) with `stdin`, then EOF.
   * Outputs are capped at 1 MiB each. @throws {CommandFailed} the exit status was not 0.
   * @throws {RemoteFailure} over the cap, or the command was not accepted.
   * @throws {TimedOut} the channel is killed and its output discarded. @throws {Unreachable}
   */
  execute(
    argv: readonly string[],
    stdin: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ stdout: Buffer; stderr: Buffer }>;
  /** Closes the connection. Idempotent, never throws. */
  close(): void;
}

export interface UploadFile {
  readonly content: Buffer;
  readonly sha256: string;
  /** For example 0o755. */
  readonly mode: number;
  /** The content compressed, by the name of the program that unpacks it with `-dc`; best first. */
  readonly compressed?: ReadonlyMap<string, () => Promise<Buffer>>;
}

/**
 * Parses `host`, `host:port` or `[v6]:port`; without a port, `defaultPort`.
 * @throws {Malformed} the port is invalid.
 */
export function parseAddress(address: string, defaultPort: number): { host: string; port: number } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(address);
  const parts = address.split(':');
  const [host, port = String(defaultPort)] =
    bracketed?.slice(1) ?? (parts.length === 2 ? parts : [address]);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new Malformed(`the address "${address}" has no port between 1 and 65535`);
  }
  return { host: host!, port: Number(port) };
}

/**
 * Fingerprint of a public key, as `ssh-keygen -l` prints it.
 * @param blob the wire form, or base64 of it.
 */
export function fingerprintOf(blob: Buffer | string): string {
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob;
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`;
}
