import type { MachineHooks } from '../kit/hooks.ts';
import type { Play } from './commands.ts';
import type { ServiceTally } from './serving/service.ts';
import type { BootTally, HostState, SshRefusal } from './host.ts';

/** Structurally the daemon's log port; constant messages, everything variable in the fields. */
export interface HostsLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Structurally the daemon's source of chance. */
export interface HostsRandom {
  /** Uniform in [0, 1). */
  next(): number;
  /** UUID v4, lower case. */
  uuid(): string;
}

export interface SimulatedHostsOptions {
  /** Holds one directory per machine. Made when missing; one process at a time may use it. */
  readonly dir: string;
  readonly log: HostsLog;
  /** Ports and boot ids. */
  readonly random: HostsRandom;
  /** `close` removes `dir`. Default false: the machines are there again next time. */
  readonly throwaway?: boolean;
  /**
   * Agents live in this process instead of one of their own, so that hundreds of machines fit on a
   * small computer. Whatever is uploaded and executed is played as the agent. Default false.
   */
  readonly light?: boolean;
  /**
   * Each machine has a disk `vda` of so many bytes, a multiple of 512, which holds nothing that it
   * needs: agents can install to it. A sparse file. Default: agents find no disk.
   */
  readonly diskBytes?: number;
  /**
   * `authorized_keys` lines of all who ever get in, whatever keys a device lists. Default: whoever a
   * device lists.
   */
  readonly admitted?: readonly string[];
  /**
   * Machines have addresses of their own in 127.0.0.0/8, and each serves HTTP at this port while it
   * has power. Default: all are on 127.0.0.1, and none serves.
   */
  readonly serving?: { readonly port: number };
  /**
   * All machines listen for SSH at this port, each with an address of its own in 127.0.0.0/8: for
   * services that tell the address alone. Default: each has a port of its own.
   */
  readonly sshPort?: number;
  /**
   * Plays commands that machines do not have of their own, such as scripts for a shell. Undefined:
   * this one is not played. Default: none is.
   */
  readonly play?: (deviceId: string, argv: readonly string[]) => Play | undefined;
}

/** What a test or a page wants to know of a machine. */
export interface HostSnapshot extends HostState {
  readonly deviceId: string;
  readonly hostname: string;
  readonly address: string;
  /** Of SSH. */
  readonly port: number;
  /** Host key, base64 of the wire blob. */
  readonly hostKey: string;
  /** What the machine sees as `/`. */
  readonly root: string;
  /** Everything that runs on the machine now: uploaded programs and what they started. */
  readonly agentPids: readonly number[];
  /** The same, counted; with those of light machines, which are no processes. */
  readonly agents: number;
  readonly seen: HostTally;
  /** Null: it serves nobody. */
  readonly service: ServiceTally | null;
}

/** A client's request that reached a machine. */
export interface ServedRequest {
  readonly deviceId: string;
  /** Wall clock, epoch ms. */
  readonly atMs: number;
}

/** What a machine has seen since this simulator began, whoever caused it. */
export interface HostTally extends BootTally {
  /** Uploaded programs that were executed: takeovers. */
  readonly programs: number;
  /** Attempts to end the agent that came over SSH. */
  readonly stops: number;
}

/**
 * Machines behind simulated devices. Each is a real SSH server on this computer with a disk of its
 * own, and runs what was uploaded to it as real processes.
 */
export interface SimulatedHosts extends MachineHooks {
  /** Everything on the machine is killed; the machine itself stays up. Answers how many died. */
  loseAgent(deviceId: string): Promise<number>;
  /** Each agent on the machine dies so long after it was started; undefined ends that. */
  shortenAgents(deviceId: string, lifeMs: number | undefined): void;
  /**
   * Power is gone, and comes with nothing that is asked of the machine, until `false`: then it boots
   * if it was switched on last.
   */
  losePower(deviceId: string, on: boolean): Promise<void>;
  /**
   * What agents say gets to nobody: connections stay open, calls wait until they are out of time.
   * SSH still works. Of light machines only. @throws {Error} the machine is not light.
   */
  cutAgents(deviceIds: readonly string[], on: boolean): void;
  /**
   * The machine freezes: connections are accepted and never answered, its processes are stopped.
   * Ends with `false`, and with the next `down`.
   */
  hang(deviceId: string, on: boolean): Promise<void>;
  /** The machine lets nobody in, over reboots too, until told otherwise. */
  refuseSsh(deviceId: string, on: boolean, how?: SshRefusal): Promise<void>;
  isHanging(deviceId: string): boolean;
  /** Of its last boot; undefined before the first one. */
  bootId(deviceId: string): string | undefined;
  list(): HostSnapshot[];
  /** Tells of each request to a machine that serves. Returns how to end that. */
  watchRequests(listener: (request: ServedRequest) => void): () => void;
  /** Kills everything, closes every port, removes `dir` if it is throw-away. Idempotent. */
  close(): Promise<void>;
}
