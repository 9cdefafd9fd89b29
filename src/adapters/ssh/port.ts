/**
 * The only thing the fleet asks of SSH. Every implementation passes `test/contracts/shell.ts`.
 * Each step has its own time limit (configuration of the implementation) and obeys its signal.
 */
export interface RemoteShell {
  /**
   * Connects and authenticates. Runs nothing yet, so the caller can judge the host key first.
   * @throws {NotListening} refused, or no route; an {Unreachable} like the next.
   * @throws {Unreachable} reset or closed in the middle. @throws {TimedOut} connect or handshake limit.
   * @throws {Denied} the host refused every key of ours.
   */
  connect(target: ShellTarget, signal: AbortSignal): Promise<ShellSession>;
}

export interface ShellTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
}

export interface ShellSession {
  /** The host key that the handshake proved, base64 of the wire blob. */
  readonly hostKey: string;
  /**
   * Puts a file there: temporary name, then rename; skipped when size and SHA-256 already match.
   * @throws {RemoteFailure} no space, no permission, no SFTP. @throws {TimedOut} @throws {Unreachable}
   */
  upload(path: string, file: UploadFile, signal: AbortSignal): Promise<{ skipped: boolean }>;
  /**
   * Runs one command (argument vector, quoted by the implementation) with `stdin`, then EOF.
   * Outputs are capped at 1 MiB each. @throws {RemoteFailure} non-zero exit or over the cap.
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

/** `host`, `host:port`, `[v6]:port`; throws nothing: a text without port gets `defaultPort`. */
export function parseAddress(address: string, defaultPort: number): { host: string; port: number } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(address);
  if (bracketed) {
    return { host: bracketed[1]!, port: Number(bracketed[2] ?? defaultPort) };
  }
  const parts = address.split(':');
  if (parts.length === 2) return { host: parts[0]!, port: Number(parts[1]) };
  return { host: address, port: defaultPort };
}
