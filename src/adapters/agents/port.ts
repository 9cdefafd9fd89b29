import type { Observable } from 'rxjs';
import type { MachineId } from '../../domain/ids.ts';

/** The public listener that agents report to. */
export interface AgentServer {
  /** `host:port` as bound. */
  readonly address: string;
  /** One event per heartbeat, after it was committed. Hot; slow readers miss nothing they need. */
  readonly heard$: Observable<Heard>;
  /** Refuses new calls with UNAVAILABLE, drains for at most `graceMs`, closes all sockets. */
  close(graceMs: number): Promise<void>;
}

export interface Heard {
  readonly machineId: MachineId;
  /** Database time. */
  readonly atMs: number;
  readonly bootId: string | null;
}

/** What is said to a fresh agent over SSH, and how its answer is read. */
export interface TakeoverProtocol {
  /** Serialized `TakeoverInit` for this machine. */
  request(machineId: MachineId): Uint8Array;
  /**
   * Judges the agent's whole standard output.
   * @throws {Malformed} not a `TakeoverResponse`, no result, wrong echo, key not 32 bytes.
   * @throws {RemoteFailure} the agent answered with an error.
   */
  answer(
    machineId: MachineId,
    stdout: Uint8Array,
  ): { readonly publicKey: Uint8Array; readonly warnings: readonly string[] };
}
