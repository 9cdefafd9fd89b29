/** Messages between the world and a daemon's process, as JSON over the process's channel. */

/** Settings of one run, equal for all processes. */
export interface Setup {
  readonly url: string;
  /** Name of this daemon start. It is the runtime info of its sessions. */
  readonly run: string;
  readonly seed: number;
  /** File to which acknowledgements are appended. */
  readonly logPath: string;
  readonly machines: readonly MachineInfo[];
  /** The process fences nothing itself, as a stopped process would, and delays its pokes. */
  readonly isUnfenced?: boolean;
}
export interface MachineInfo {
  readonly machineId: string;
  readonly provider: string;
  readonly deviceId: string;
  readonly reservationId: string;
  readonly address: string;
  readonly location: string;
  readonly bootId: string;
  readonly up: boolean;
}

/** An agent's report; keys are hex. */
export interface Beat {
  readonly machineId: string;
  readonly publicKey: string;
  readonly bootId: string;
}

export type ToDaemon =
  | { readonly type: 'setup'; readonly setup: Setup }
  | { readonly type: 'answer'; readonly id: number; readonly exitCode: number; stdout: string }
  | { readonly type: 'power'; readonly address: string; readonly bootId: string; up: boolean }
  | { readonly type: 'beats'; readonly beats: readonly Beat[] }
  /** Ends in order. */
  | { readonly type: 'stop' };

export type FromDaemon =
  | { readonly type: 'ready' }
  /**
   * An action on a machine. `atMs` is when the daemon last compared the time with its own deadline,
   * after the database had allowed the action. `sentAtMs` is when the message was sent. Both use
   * the clock that all share. The daemon waits for nothing in between, but a process may be stopped
   * anywhere.
   */
  | {
      readonly type: 'effect';
      readonly id: number;
      readonly kind: 'execute' | 'reboot';
      readonly address: string;
      readonly atMs: number;
      readonly sentAtMs: number;
      /** Base64; empty for a reboot. */
      readonly stdin: string;
    };

/** One line of a daemon's own record, written before it counts as acknowledged. */
export type Note =
  | { readonly t: 'beat'; readonly machine: string; readonly atMs: number }
  | {
      readonly t: 'claim';
      readonly machine: string;
      process: string;
      result: string;
      epoch: string;
    }
  | { readonly t: 'end'; readonly machine: string; how: EndKind; result: string; epoch: string }
  | { readonly t: 'session'; readonly session: string }
  | { readonly t: 'crash'; readonly what: string };
export type EndKind = 'finish' | 'fail' | 'cancel';
