/** What is known of a run: the record that the oracle judges. */

/** Any change, as the database noted it. Times are epoch milliseconds of the database's clock. */
export interface Noted {
  /** When its transaction began: what the transaction took for now. */
  readonly begunAtMs: number;
  readonly atMs: number;
  readonly xid: string;
  /** Client port of the connection, by which the writer is known. */
  readonly port: number | null;
}
export interface SessionChange extends Noted {
  readonly sessionId: string;
  /** Null: the session was deleted. */
  readonly deadlineMs: number | null;
  /** The start of a daemon that opened it. */
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
/** What the guard decided for a scope, as it stood from then on. */
export interface GuardWrite extends Noted {
  readonly scope: string;
  readonly frozenAtMs: number | null;
  /** Of the fleet: heartbeats are taken in without a break since. */
  readonly upSinceMs: number | null;
}
/** Some daemon said that it takes heartbeats in; null: none ever did. */
export interface PulseWrite extends Noted {
  readonly seenAtMs: number | null;
}
/** What only the holder of the machine's lease may write. */
export interface TagWrite extends Noted {
  readonly table: string;
  readonly machineId: string;
  /** When it was last noted that something is about to be done to the machine; null: never. */
  readonly askedMs: number | null;
}
/** A heartbeat was taken away. */
export interface Deletion extends Noted {
  readonly machineId: string;
}
/** A heartbeat that was written; later ones replace it in its row. */
export interface Beaten {
  readonly machineId: string;
  readonly atMs: number;
}
/** What a daemon noted of its own calls, each before anybody could act on it. */
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
  /** Runs that fence nothing themselves: what they do is allowed when the database allowed it. */
  readonly unfenced: ReadonlySet<string>;
  /** The start of a daemon that wrote something; null: nobody we know. */
  readonly writerOf: (change: Noted) => string | null;
  readonly budget: Budget;
  readonly grace: Grace;
  /** As it is in the end. */
  readonly end: {
    readonly machines: readonly {
      readonly machineId: string;
      readonly heartbeatMs: number | null;
    }[];
    /** Machines whose lease somebody has, dead or alive. */
    readonly held: readonly string[];
    /** Rows of history in the table. */
    readonly historyRows: number;
  };
}
/** Most permits at once. */
export interface Budget {
  readonly fleet: number;
  /** By provider and by location. */
  readonly groups: ReadonlyMap<string, number>;
}
/** When silence means something. */
export interface Grace {
  /** Heartbeats have been taken in for so long … */
  readonly heartbeatMs: number;
  /** … and never not for longer than this. */
  readonly gapMs: number;
}
