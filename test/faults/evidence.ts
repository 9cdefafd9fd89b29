/** The record of a run, which the oracle judges. */

/** A change in the database's record. Times are epoch milliseconds of the database's clock. */
export interface Noted {
  /** Start of its transaction: the transaction's own now. */
  readonly begunAtMs: number;
  readonly atMs: number;
  readonly xid: string;
  /** Client port of the connection, which identifies the writer. */
  readonly port: number | null;
}
export interface SessionChange extends Noted {
  readonly sessionId: string;
  /** Null: the session was deleted. */
  readonly deadlineMs: number | null;
  /** The daemon start that opened it. */
  readonly run: string;
}
export interface Lease {
  readonly sessionId: string;
  readonly epoch: string;
  readonly process: string;
}
export interface LeaseChange extends Noted {
  readonly machineId: string;
  readonly group: string;
  readonly from: Lease | null;
  readonly to: Lease | null;
}
export interface HistoryRow extends Noted {
  readonly machineId: string;
  readonly process: string;
  readonly event: string;
  readonly sessionId: string;
  readonly epoch: string;
  readonly seq: string;
  readonly cause: string | null;
}
export interface PermitChange extends Noted {
  readonly granted: boolean;
  readonly machineId: string;
  readonly provider: string;
  readonly location: string | null;
}
/** The guard's decision for a scope, valid from then on. */
export interface GuardWrite extends Noted {
  readonly scope: string;
  readonly frozenAtMs: number | null;
  /** For the fleet: time since which heartbeats are received without a break. */
  readonly upSinceMs: number | null;
}
/** A daemon's statement that it receives heartbeats; null: no daemon ever did. */
export interface PulseWrite extends Noted {
  readonly seenAtMs: number | null;
}
/** A write that only the holder of the machine's lease may make. */
export interface TagWrite extends Noted {
  readonly table: string;
  readonly machineId: string;
  /** Time of the last note before an action on the machine; null: none. */
  readonly askedMs: number | null;
}
/** A deleted heartbeat. */
export interface Deletion extends Noted {
  readonly machineId: string;
}
/** A written heartbeat; later heartbeats replace it in its row. */
export interface Beaten {
  readonly machineId: string;
  readonly atMs: number;
}
/** A daemon's record of its own calls, each written before anybody could act on it. */
export interface Acknowledged {
  readonly beats: readonly { readonly machine: string; readonly atMs: number }[];
  readonly claims: readonly { readonly machine: string; readonly epoch: string }[];
  readonly ends: readonly {
    readonly machine: string;
    readonly epoch: string;
    readonly how: 'finish' | 'fail' | 'cancel';
    readonly result: string;
  }[];
}
export interface Evidence {
  readonly sessions: readonly SessionChange[];
  readonly leases: readonly LeaseChange[];
  readonly history: readonly HistoryRow[];
  readonly rewritten: number;
  readonly permits: readonly PermitChange[];
  readonly guard: readonly GuardWrite[];
  readonly pulses: readonly PulseWrite[];
  readonly tags: readonly TagWrite[];
  readonly silenced: readonly Deletion[];
  readonly beats: readonly Beaten[];
  readonly acknowledged: Acknowledged;
  readonly effects: readonly {
    readonly run: string;
    readonly kind: string;
    readonly machineId: string;
    readonly atMs: number;
    readonly sentAtMs: number;
  }[];
  /**
   * Runs without fencing of their own. Their actions are allowed when the database allowed them.
   */
  readonly unfenced: ReadonlySet<string>;
  /** The daemon start that wrote a change; null: unknown. */
  readonly writerOf: (change: Noted) => string | null;
  readonly budget: Budget;
  readonly grace: Grace;
  /** The final state. */
  readonly end: {
    readonly machines: readonly {
      readonly machineId: string;
      readonly heartbeatMs: number | null;
    }[];
    /** Machines whose lease a live or dead session holds. */
    readonly held: readonly string[];
    /** Rows of history in the table. */
    readonly historyRows: number;
  };
}
/** Maximum number of simultaneous permits. */
export interface Budget {
  readonly fleet: number;
  /** By provider and by location. */
  readonly groups: ReadonlyMap<string, number>;
}
/** When silence counts. */
export interface Grace {
  /** Heartbeats have been received for this long … */
  readonly heartbeatMs: number;
  /** … without a gap longer than this. */
  readonly gapMs: number;
}
