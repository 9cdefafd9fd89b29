import type { Observable } from 'rxjs';
import type { MachineId } from '../../domain/ids.ts';

/** The public listener that agents report to. */
export interface AgentServer {
  /** `host:port` as bound. */
  readonly address: string;
  /** One event per heartbeat, after its commit. Hot; a slow reader loses nothing that it needs. */
  readonly heard$: Observable<Heard>;
  /**
   * Whether a heartbeat that arrives now would probably reach the database. The server listens, is
   * ready, and the last batch was accepted. A refusal counts for two minutes at most, since nobody
   * may be left to try again.
   */
  isTakingIn(): boolean;
  /**
   * Serves new connections with another key and certificate; open connections continue.
   * @throws {UsageError} they cannot be used; the old ones stay.
   */
  present(tls: ServerKeys): void;
  /** Refuses new calls with UNAVAILABLE, drains for at most `graceMs`, closes all sockets. */
  close(graceMs: number): Promise<void>;
}

/** PEM key and certificate (with its chain) that the listener presents. */
export interface ServerKeys {
  readonly key: string;
  readonly cert: string;
}

export interface Heard {
  readonly machineId: MachineId;
  /** Database time. */
  readonly atMs: number;
  readonly bootId: string | null;
}

/** What an agent learns about the system that it runs in. */
export interface SystemTerms {
  /** The system may be discarded, so the machine may be rebooted into what the agent installed. */
  readonly throwAway: boolean;
}

/** Messages to a new agent over SSH, and its answer. */
export interface TakeoverProtocol {
  /** Serialized `TakeoverInit` for this machine. Without `told`, the agent keeps the system. */
  request(machineId: MachineId, told?: SystemTerms): Uint8Array;
  /**
   * Checks the agent's whole standard output against the request.
   * @throws {Malformed} not a `TakeoverResponse`, no result, wrong echo, key not 32 bytes.
   * @throws {RemoteFailure} the agent answered with an error.
   */
  answer(
    machineId: MachineId,
    stdout: Uint8Array,
    told?: SystemTerms,
  ): { readonly publicKey: Uint8Array; readonly warnings: readonly string[] };
}
