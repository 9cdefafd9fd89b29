import type { Observable } from 'rxjs';
import type { MachineId } from '../../domain/ids.ts';

/** The public listener that agents report to. */
export interface AgentServer {
  /** `host:port` as bound. */
  readonly address: string;
  /** One event per heartbeat, after it was committed. Hot; slow readers miss nothing they need. */
  readonly heard$: Observable<Heard>;
  /**
   * Whether a heartbeat that comes now would reach the database, as far as we can tell: it listens,
   * is ready, and the last batch was not refused (a refusal counts for two minutes at most, since
   * nobody may be left who would try again).
   */
  isTakingIn(): boolean;
  /**
   * Serves new connections with another key and certificate; those that are open live on.
   * @throws {UsageError} they cannot be used; the old ones stay.
   */
  present(tls: ServerKeys): void;
  /** Refuses new calls with UNAVAILABLE, drains for at most `graceMs`, closes all sockets. */
  close(graceMs: number): Promise<void>;
}

/** What the listener presents, PEM; the certificate with its chain. */
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

/** What an agent is told of the system that it runs in. */
export interface ToldOfSystem {
  /** It may be thrown away, so that the machine may be rebooted into what the agent installed. */
  readonly throwAway: boolean;
}

/** What is said to a fresh agent over SSH, and how its answer is read. */
export interface TakeoverProtocol {
  /** Serialized `TakeoverInit` for this machine. Its system is kept when nothing is said of it. */
  request(machineId: MachineId, told?: ToldOfSystem): Uint8Array;
  /**
   * Judges the agent's whole standard output, by what it was told.
   * @throws {Malformed} not a `TakeoverResponse`, no result, wrong echo, key not 32 bytes.
   * @throws {RemoteFailure} the agent answered with an error.
   */
  answer(
    machineId: MachineId,
    stdout: Uint8Array,
    told?: ToldOfSystem,
  ): { readonly publicKey: Uint8Array; readonly warnings: readonly string[] };
}
