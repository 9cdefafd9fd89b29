import { createHash } from 'node:crypto';
import { Malformed } from '../../domain/errors.ts';
import type { HeldSecret } from '../../domain/machine.ts';

/**
 * The only thing the fleet asks of SSH. Every implementation passes `test/contracts/shell.ts`.
 * Each step has its own time limit (configuration of the implementation) and obeys its signal.
 */
export interface RemoteShell {
  /**
   * Connects and authenticates. Runs nothing yet, so the caller can judge the host key first.
   * @throws {NotListening} refused, or no route; an {Unreachable} like the next.
   * @throws {NoCommonProtocol} somebody who speaks no SSH, or none of ours; an {Unreachable} too.
   * @throws {Unreachable} reset or closed in the middle. @throws {TimedOut} connect or handshake limit.
   * @throws {Denied} the host refused every key of ours, and the password.
   * @throws {UsageError} the password has gone from where it was kept.
   */
  connect(target: ShellTarget, signal: AbortSignal): Promise<ShellSession>;
}

export interface ShellTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /**
   * The host key that should answer, base64 of the wire form, where one is known. Asks for a key of
   * its type; whether it is this one is judged by the caller.
   */
  readonly hostKey?: string | null;
  /** Tried after our keys, with a host that has shown `hostKey`, and with no other. */
  readonly password?: HeldSecret;
}

export interface ShellSession {
  /** The host key that the handshake proved, base64 of the wire blob. */
  readonly hostKey: string;
  /**
   * Puts a file there: temporary name, hash of what was written, then rename; skipped when size and
   * SHA-256 already match. An upload that broke off goes on where it ended, if the content is the same.
   * @throws {UploadFailed} no space, no permission. @throws {TimedOut} @throws {Unreachable}
   */
  upload(path: string, file: UploadFile, signal: AbortSignal): Promise<{ skipped: boolean }>;
  /**
   * Runs one command (argument vector, quoted by the implementation) with `stdin`, then EOF.
   * Outputs are capped at 1 MiB each. @throws {CommandFailed} it ended with another status than 0.
   * @throws {RemoteFailure} over the cap, or the command was not accepted.
   * @throws {TimedOut} the channel is killed and its output discarded. @throws {Unreachable}
   */
  execute(
    argv: readonly string[],
    stdin: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ stdout: Buffer; stderr: Buffer }>;
  /** Ends the connection. Idempotent, never throws. */
  close(): void;
}

export interface UploadFile {
  readonly content: Buffer;
  readonly sha256: string;
  /** Such as 0o755. */
  readonly mode: number;
}

/**
 * `host`, `host:port`, `[v6]:port`; a text without port gets `defaultPort`.
 * @throws {Malformed} what should be a port is none.
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
 * Of a public key, as `ssh-keygen -l` prints it.
 * @param blob the wire form; a text is base64 of it.
 */
export function fingerprintOf(blob: Buffer | string): string {
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob;
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`;
}
