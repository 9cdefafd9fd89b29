import type { MachineHooks } from '../kit/hooks.ts';
import type { Play } from './commands.ts';
import type { ServiceTally } from './serving/service.ts';
import type { BootTally, HostState, SshRefusal } from './host.ts';

/** Structurally the daemon's log port, with constant messages and variable fields. */
export interface HostsLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Structurally the daemon's random source. */
export interface HostsRandom {
  /** Uniform in [0, 1). */
  next(): number;
  /** UUID v4, lower case. */
  uuid(): string;
}

export interface SimulatedHostsOptions {
  /** Holds one directory per machine. Created if missing; only one process may use it at a time. */
  readonly dir: string;
  readonly log: HostsLog;
  /** Ports and boot ids. */
  readonly random: HostsRandom;
  /** `close` removes `dir`. Default false: the machines exist again next time. */
  readonly throwaway?: boolean;
  /**
   * Agents live in this process, so that hundreds of machines fit on a small computer. Every
   * uploaded and executed program is played as the agent. Default false.
   */
  readonly light?: boolean;
  /**
   * Each machine has an unneeded disk `vda` of this many bytes, a multiple of 512, for agents to
   * install to. A sparse file. Default: agents find no disk.
   */
  readonly diskBytes?: number;
  /** `authorized_keys` lines of all accepted keys. Default: the device's list. */
  readonly admitted?: readonly string[];
  /**
   * Machines have their own addresses in 127.0.0.0/8, and each serves HTTP at this port while it
   * has power. Default: all use 127.0.0.1, and none serves.
   */
  readonly serving?: { readonly port: number };
  /**
   * All machines listen for SSH at this port, each with its own address in 127.0.0.0/8, for
   * services that give only the address. Default: each has its own port.
   */
  readonly sshPort?: number;
  /**
   * Plays commands that machines lack, such as shell scripts. Undefined: it does not play this
   * command. Default: none.
   */
  readonly play?: (deviceId: string, argv: readonly string[]) => Play | undefined;
}

/** A machine as tests and pages see it. */
export interface HostSnapshot extends HostState {
  readonly deviceId: string;
  readonly hostname: string;
  readonly address: string;
  /** Of SSH. */
  readonly port: number;
  /** Host key, base64 of the wire blob. */
  readonly hostKey: string;
  /** The machine's `/`. */
  readonly root: string;
  /** Present processes of the machine: uploaded programs and their children. */
  readonly agentPids: readonly number[];
  /** Their number, including agents of light machines, which are no processes. */
  readonly agents: number;
  readonly seen: HostTally;
  /** Null: it has no service. */
  readonly service: ServiceTally | null;
}

/** A client's request that reached a machine. */
export interface ServedRequest {
  readonly deviceId: string;
  /** Wall clock, epoch ms. */
  readonly atMs: number;
}

/** A machine's events since the start of this simulator, whatever their cause. */
export interface HostTally extends BootTally {
  /** Number of executed uploaded programs, which are agent starts. */
  readonly programs: number;
  /** Number of attempts to end the agent over SSH. */
  readonly stops: number;
}

/**
 * Machines behind simulated devices. Each is a real SSH server on this computer with its own disk,
 * and runs uploaded programs as real processes.
 */
export interface SimulatedHosts extends MachineHooks {
  /** Kills everything on the machine, which stays up. @returns the number of killed programs. */
  loseAgent(deviceId: string): Promise<number>;
  /** Each agent on the machine dies this long after its start; undefined ends that. */
  shortenAgents(deviceId: string, lifeMs: number | undefined): void;
  /**
   * Cuts the machine's power, whatever is requested, until `false`: then it boots if it was
   * switched on last.
   */
  losePower(deviceId: string, on: boolean): Promise<void>;
  /**
   * Cuts the agents' calls: connections stay open, and calls wait until they time out. SSH still
   * works. Only for light machines. @throws {Error} the machine is not light.
   */
  cutAgents(deviceIds: readonly string[], on: boolean): void;
  /**
   * Freezes the machine: connections are accepted and never answered, and its processes are
   * stopped. Ends with `false` and with the next `down`.
   */
  hang(deviceId: string, on: boolean): Promise<void>;
  /** The machine refuses all logins, also after reboots, until further notice. */
  refuseSsh(deviceId: string, on: boolean, how?: SshRefusal): Promise<void>;
  isHanging(deviceId: string): boolean;
  /** Id of its last boot; undefined before the first. */
  bootId(deviceId: string): string | undefined;
  list(): HostSnapshot[];
  /** Reports each request to a serving machine. @returns a function that stops the reports. */
  watchRequests(listener: (request: ServedRequest) => void): () => void;
  /** Kills everything, closes every port, and removes a throw-away `dir`. Idempotent. */
  close(): Promise<void>;
}
